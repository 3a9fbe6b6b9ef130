package rules

import (
	"errors"
	"fmt"
	"net/netip"
)

// Addresses are those of a Service. The families that it lacks are invalid.
type Addresses struct {
	Four, Six netip.Addr
}

// Proxy is where the resolver leads sandboxes. A client that shares connections between names of one address must not mix names
// without a rule, which are Passed, and those with one, which are Inspected.
type Proxy struct {
	Passed, Inspected Addresses
}

// ParseAddresses reads the addresses of a Service: one of a family, and at least one.
func ParseAddresses(texts []string) (Addresses, error) {
	var read Addresses
	for _, text := range texts {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return Addresses{}, err
		}
		into := &read.Six
		if address = address.Unmap(); address.Is4() {
			into = &read.Four
		}
		if into.IsValid() {
			return Addresses{}, fmt.Errorf("%s and %s are of one family", into, address)
		}
		*into = address
	}
	if !read.Four.IsValid() && !read.Six.IsValid() {
		return Addresses{}, errors.New("there is no address")
	}
	return read, nil
}

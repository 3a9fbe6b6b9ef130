// Package names normalises host names and matches them against the patterns of an allow list.
package names

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

const (
	maxName  = 253
	maxLabel = 63
)

// Any is the pattern that every name matches.
const Any = "*"

var errAddress = errors.New("it is an address, not a name")

// profile maps to A-labels as browsers do, and lets a label have an underscore, which service names need.
var profile = idna.New(
	idna.MapForLookup(), idna.Transitional(false), idna.BidiRule(), idna.StrictDomainName(false), idna.VerifyDNSLength(false),
)

// Normalise returns a host name in lower case, as A-labels and without its final dot. The name has two labels or more. The error
// says what is wrong with it.
func Normalise(host string) (string, error) {
	if !utf8.ValidString(host) {
		return "", errors.New("it is not UTF-8")
	}
	ascii, err := toASCII(strings.TrimSuffix(host, "."))
	if err != nil {
		return "", err
	}
	if err := check(ascii); err != nil {
		return "", err
	}
	// The package maps some characters that no name has to labels that it refuses itself.
	if again, err := toASCII(ascii); err != nil || again != ascii {
		return "", errors.New("it has characters that no host name has")
	}
	return ascii, nil
}

func toASCII(host string) (string, error) {
	ascii, err := profile.ToASCII(host)
	if err != nil {
		return "", fmt.Errorf("it is not a host name: %w", err)
	}
	return strings.ToLower(ascii), nil
}

func check(name string) error {
	if len(name) == 0 || len(name) > maxName {
		return fmt.Errorf("it has %d bytes, and a name has 1 to %d", len(name), maxName)
	}
	if isAddress(name) {
		return errAddress
	}
	labels := strings.Split(name, ".")
	if len(labels) < 2 {
		return errors.New("it has one label, and a name has two or more")
	}
	for _, label := range labels {
		if err := checkLabel(label); err != nil {
			return err
		}
	}
	return nil
}

func checkLabel(label string) error {
	if len(label) == 0 || len(label) > maxLabel {
		return fmt.Errorf("a label has %d bytes, and may have 1 to %d", len(label), maxLabel)
	}
	for _, char := range []byte(label) {
		if !isLabelByte(char) {
			return errors.New("a label has other characters than letters, digits, hyphens and underscores")
		}
	}
	return nil
}

func isLabelByte(char byte) bool {
	return char >= 'a' && char <= 'z' || char >= '0' && char <= '9' || char == '-' || char == '_'
}

// isAddress also knows the forms in which resolvers of C libraries read addresses: 0x7f.1, 127.1, 017700000001. A name whose last
// label begins with a digit can be no public name.
func isAddress(name string) bool {
	if _, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return true
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	return last != "" && last[0] >= '0' && last[0] <= '9'
}

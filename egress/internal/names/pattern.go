package names

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Pattern is a name of an allow list: example.com, *.example.com or *, each with a port or for every port.
type Pattern struct {
	// name is exact, or the part behind "*." of a wildcard. Empty for every name.
	name     string
	wildcard bool
	port     uint16
}

// ParsePattern reads NAME or NAME:PORT. *.example.com stands for all names below example.com and not for example.com itself, and *
// for all names that are not reserved.
func ParsePattern(text string) (Pattern, error) {
	name, port, err := splitPort(text)
	if err != nil {
		return Pattern{}, err
	}
	if name == Any {
		return Pattern{wildcard: true, port: port}, nil
	}
	rest, wildcard := strings.CutPrefix(name, "*.")
	rest, err = Normalise(rest)
	if err != nil {
		return Pattern{}, fmt.Errorf("name %q: %w", name, err)
	}
	if IsReserved(rest) {
		return Pattern{}, fmt.Errorf("name %q is never let through", name)
	}
	return Pattern{name: rest, wildcard: wildcard, port: port}, nil
}

func splitPort(text string) (string, uint16, error) {
	name, digits, found := strings.Cut(text, ":")
	if !found {
		return text, 0, nil
	}
	port, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || port == 0 {
		return "", 0, errors.New("a port is a number from 1 to 65535")
	}
	return name, uint16(port), nil
}

// MatchesName says whether the pattern has this normalised name, on any port.
func (p Pattern) MatchesName(host string) bool {
	if !p.wildcard {
		return host == p.name
	}
	if p.name == "" {
		return !IsReserved(host)
	}
	return strings.HasSuffix(host, "."+p.name)
}

// Matches says whether the pattern has this normalised name on this port.
func (p Pattern) Matches(host string, port uint16) bool {
	return (p.port == 0 || p.port == port) && p.MatchesName(host)
}

// Beats says whether p is the closer one of two patterns that both match: an exact name beats a wildcard, and a longer wildcard
// beats a shorter one.
func (p Pattern) Beats(other Pattern) bool {
	if p.wildcard != other.wildcard {
		return other.wildcard
	}
	return len(p.name) > len(other.name)
}

// String returns the pattern as it was written, normalised.
func (p Pattern) String() string {
	text := p.name
	switch {
	case p.wildcard && p.name == "":
		text = Any
	case p.wildcard:
		text = "*." + p.name
	}
	if p.port != 0 {
		text += ":" + strconv.Itoa(int(p.port))
	}
	return text
}

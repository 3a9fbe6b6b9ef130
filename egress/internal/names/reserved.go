package names

import "strings"

// reserved are the last labels of names that no list and no rule has: they lead to the machine itself, into its network or into the
// cluster, or from an address to a name.
var reserved = map[string]bool{"arpa": true, "internal": true, "local": true, "localhost": true, "svc": true}

// IsReserved says whether a normalised name is let through by no pattern, "*" among them.
func IsReserved(name string) bool {
	return reserved[name[strings.LastIndexByte(name, '.')+1:]]
}

// Package names checks what a caller calls things, before a name becomes part of a path or a command.
package names

import (
	"fmt"
	"regexp"
)

const (
	mostLabel     = 63
	mostSubdomain = 253
)

var (
	uid       = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	label     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
)

// Error says which field has a name that cannot be one.
type Error struct {
	Field, Value, Wanted string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s is %q: it must be %s", e.Field, e.Value, e.Wanted)
}

// CheckUID accepts the UID of a Kubernetes object.
func CheckUID(field, value string) error {
	return check(uid.MatchString(value), &Error{field, value, "the UID of a Kubernetes object, such as 0f8fad5b-d9cb-469f-a165-70867728950e"})
}

// CheckNamespace accepts a DNS label, the form of a namespace.
func CheckNamespace(field, value string) error {
	return check(len(value) <= mostLabel && label.MatchString(value), &Error{field, value, "a DNS label of at most 63 characters"})
}

// CheckName accepts a DNS subdomain, the form of the name of a Pod or a Sandbox.
func CheckName(field, value string) error {
	return check(len(value) <= mostSubdomain && subdomain.MatchString(value), &Error{field, value, "a DNS name of at most 253 characters"})
}

func check(ok bool, otherwise *Error) error {
	if ok {
		return nil
	}
	return otherwise
}

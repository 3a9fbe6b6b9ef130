package e2e

import (
	"os/user"
	"testing"
)

// own is the name of the user the tests, and so the daemon, run as.
func own(t *testing.T) string {
	t.Helper()
	found, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return found.Username
}

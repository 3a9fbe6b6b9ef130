package identity

import (
	"bytes"
	"encoding/base64"
	"net/netip"
	"testing"
)

// The daemon has the same vector: runtime/internal/server/prove_test.go.
func TestTheProofIsTheOneThatTheDaemonComputes(t *testing.T) {
	mac := Compute([]byte("proof"), netip.MustParseAddr("::ffff:10.0.0.5"), bytes.Repeat([]byte{7}, nonceSize))
	if got := base64.StdEncoding.EncodeToString(mac); got != "JRV/xvIDhyvauysjbykwPgL1tlv9bNMHF8TobiydBWg=" {
		t.Error(got)
	}
}

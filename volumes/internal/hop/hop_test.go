package hop_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"sandlot.dev/volumes/internal/hop"
)

var now = time.Unix(1_800_000_000, 0)

func key(fill byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(fill)), ed25519.SeedSize)))
}

func public(key ed25519.PrivateKey) string {
	return base64.RawURLEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
}

func sign(key ed25519.PrivateKey, namespace, method, uri string, expires time.Time) string {
	text := strconv.FormatInt(expires.Unix(), 10)
	message := strings.Join([]string{"sandlot-volumes", namespace, method, uri, text}, "\n")
	return "Sandlot " + text + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(key, []byte(message)))
}

func TestOnlyRequestsOfTheReleasePass(t *testing.T) {
	const uri = "/volumes/x/path?path=%2Fa"
	verifier, err := hop.NewVerifier(public(key('a'))+","+public(key('b')), "team-a", func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	soon := now.Add(time.Minute)
	for name, row := range map[string]struct {
		authorization string
		passes        bool
	}{
		"signed":                        {sign(key('a'), "team-a", "GET", uri, soon), true},
		"signed by the other key":       {sign(key('b'), "team-a", "GET", uri, soon), true},
		"signed by a stranger":          {sign(key('c'), "team-a", "GET", uri, soon), false},
		"of another namespace":          {sign(key('a'), "team-b", "GET", uri, soon), false},
		"of another method":             {sign(key('a'), "team-a", "DELETE", uri, soon), false},
		"of another path":               {sign(key('a'), "team-a", "GET", "/volumes/x/path?path=%2Fb", soon), false},
		"expired":                       {sign(key('a'), "team-a", "GET", uri, now.Add(-time.Second)), false},
		"too long":                      {sign(key('a'), "team-a", "GET", uri, now.Add(time.Hour)), false},
		"absent":                        {"", false},
		"of another scheme":             {"Bearer x", false},
		"without a signature":           {"Sandlot 1900000000", false},
		"with a time that is no time":   {"Sandlot x.y", false},
		"with a signature that is none": {"Sandlot " + strconv.FormatInt(soon.Unix(), 10) + ".AAAA", false},
	} {
		request := httptest.NewRequest("GET", uri, nil)
		request.Header.Set("Authorization", row.authorization)
		if err := verifier.Verify(request); (err == nil) != row.passes {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestKeysMustBeKeys(t *testing.T) {
	for _, keys := range []string{"", "x", "AAAA", public(key('a')) + ","} {
		if _, err := hop.NewVerifier(keys, "team-a", time.Now); err == nil {
			t.Errorf("%q was taken", keys)
		}
	}
}

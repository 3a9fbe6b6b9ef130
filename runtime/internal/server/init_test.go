package server

import (
	"crypto/ed25519"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"sandlot.dev/runtime/internal/state"
)

// sendInit sends a body to the /init of a new daemon and returns the status and the resulting settings.
func sendInit(key ed25519.PublicKey, header http.Header, body string) (int, state.Settings) {
	store := state.Open(nil, state.Owner{})
	request := httptest.NewRequest("POST", "/init", strings.NewReader(body))
	request.Header = header
	answer := httptest.NewRecorder()
	(&Init{Store: store, PublicKeys: []ed25519.PublicKey{key}, SandboxUID: "uid"}).ServeHTTP(answer, request)
	return answer.Code, store.Current()
}

func TestARefusalTellsTheInstallationWhy(t *testing.T) {
	public, secret, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	next, later, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, meant, signedFor string
		secret                 ed25519.PrivateKey
		accepted               int64
		want                   string
	}{
		{"the key of a later installation", "uid", "uid", other, 0, "401 unknown-key"},
		{"a caller that names no sandbox", "", "uid", other, 0, "401 unknown-key"},
		{"a call for the pod that had the address before", "before", "before", secret, 0, "401 other-sandbox"},
		{"a call that comes late", "uid", "uid", secret, 18, "401 not-newer"},
		{"a good call", "uid", "uid", secret, 16, "204 "},
		{"a good call with the next key of a rotation", "uid", "uid", later, 16, "204 "},
	} {
		store := state.Open(nil, state.Owner{})
		_ = store.Change(func(state.Settings) (state.Settings, error) { return state.Settings{SignedAt: row.accepted}, nil })
		request := httptest.NewRequest("POST", "/init", strings.NewReader("{}"))
		request.Header.Set("X-Sandlot-Sandbox", row.meant)
		request.Header.Set("X-Sandlot-Timestamp", "17")
		signature := ed25519.Sign(row.secret, SignedText(row.signedFor, "17", []byte("{}")))
		request.Header.Set("X-Sandlot-Signature", base64.StdEncoding.EncodeToString(signature))
		answer := httptest.NewRecorder()
		(&Init{Store: store, PublicKeys: []ed25519.PublicKey{public, next}, SandboxUID: "uid"}).ServeHTTP(answer, request)
		if got := strconv.Itoa(answer.Code) + " " + answer.Header().Get("X-Sandlot-Refusal"); got != row.want {
			t.Errorf("%s: got %s", row.name, got)
		}
	}
}

func FuzzWhatIsNotSignedForThisSandboxChangesNothing(f *testing.F) {
	public, secret, err := ed25519.GenerateKey(nil)
	if err != nil {
		f.Fatal(err)
	}
	body := `{"accessToken":"token","sandlot":{"exec":true}}`
	elsewhere := base64.StdEncoding.EncodeToString(ed25519.Sign(secret, SignedText("other", "17", []byte(body))))
	f.Add("17", elsewhere, "", body)
	f.Add("", "", "token", body)
	f.Add("-1", "%", "", `{"accessToken":{}}`)
	f.Fuzz(func(t *testing.T, stamp, signature, token, body string) {
		header := http.Header{"X-Sandlot-Timestamp": {stamp}, "X-Sandlot-Signature": {signature}, "X-Access-Token": {token}}
		status, after := sendInit(public, header, body)
		if status != http.StatusUnauthorized || !reflect.DeepEqual(after, state.Settings{}) {
			t.Errorf("answered %d and took %+v", status, after)
		}
	})
}

func FuzzASignedBodyIsTakenAsAWholeOrNotAtAll(f *testing.F) {
	public, secret, err := ed25519.GenerateKey(nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, body := range []string{
		"", "{}", "null", `{"accessToken":"t","envVars":{"A":"1"},"sandlot":{"exec":false}}`, `{"sandlot":null}`,
		`{"sandlot":{"exec":"yes"},"accessToken":"t"}`, `{"timestamp":"never"}`, `{"accessToken":"t"}{}`, `[`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		signature := ed25519.Sign(secret, SignedText("uid", "17", []byte(body)))
		header := http.Header{
			"X-Sandlot-Timestamp": {"17"}, "X-Sandlot-Signature": {base64.StdEncoding.EncodeToString(signature)},
		}
		status, after := sendInit(public, header, body)
		switch {
		case status == http.StatusNoContent && after.Initialized && after.SignedAt == 17:
		case status == http.StatusBadRequest && reflect.DeepEqual(after, state.Settings{}):
		default:
			t.Errorf("answered %d and took %+v", status, after)
		}
	})
}

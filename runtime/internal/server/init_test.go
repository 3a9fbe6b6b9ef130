package server

import (
	"crypto/ed25519"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"sandlot.dev/runtime/internal/state"
)

// sendInit sends a body to the /init of a new daemon and returns the status and the resulting settings.
func sendInit(key ed25519.PublicKey, header http.Header, body string) (int, state.Settings) {
	store := state.Open(nil)
	request := httptest.NewRequest("POST", "/init", strings.NewReader(body))
	request.Header = header
	answer := httptest.NewRecorder()
	(&Init{Store: store, PublicKey: key, SandboxUID: "uid"}).ServeHTTP(answer, request)
	return answer.Code, store.Current()
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

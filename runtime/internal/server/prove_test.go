package server

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"sandlot.dev/runtime/internal/state"
)

// The proxy has the same vector: egress/internal/identity/prove_test.go.
func TestTheProofIsTheOneThatTheProxyComputes(t *testing.T) {
	mac := ComputeProof([]byte("proof"), netip.MustParseAddr("::ffff:10.0.0.5"), bytes.Repeat([]byte{7}, nonceSize))
	if got := base64.StdEncoding.EncodeToString(mac); got != "JRV/xvIDhyvauysjbykwPgL1tlv9bNMHF8TobiydBWg=" {
		t.Error(got)
	}
}

func TestProvesWhoItIsAtTheAddressThatWasAsked(t *testing.T) {
	store := state.Open(nil, state.Owner{})
	_ = store.Change(func(current state.Settings) (state.Settings, error) {
		current.EgressProof, current.AccessToken, current.Initialized = []byte("proof"), "token", true
		return current, nil
	})
	handler := Envd(NewGate(store, true), []Route{{Path: ProvePath, Handler: Only(http.MethodPost, Prove(store))}})
	nonce := bytes.Repeat([]byte{7}, nonceSize)
	var answers [][]byte
	for _, address := range []string{"127.0.61.1", "127.0.61.2"} {
		listener, err := net.Listen("tcp", address+":0")
		if err != nil {
			t.Fatal(err)
		}
		server := &httptest.Server{Listener: listener, Config: New(handler)}
		server.Start()
		defer server.Close()
		body, _ := json.Marshal(question{nonce})
		response, err := http.Post(server.URL+ProvePath, "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		var answer proven
		err = json.NewDecoder(response.Body).Decode(&answer)
		_ = response.Body.Close()
		if want := ComputeProof([]byte("proof"), netip.MustParseAddr(address), nonce); err != nil || !bytes.Equal(answer.MAC, want) {
			t.Errorf("%s: %d %v", address, response.StatusCode, err)
		}
		answers = append(answers, answer.MAC)
	}
	if bytes.Equal(answers[0], answers[1]) {
		t.Error("one answer serves for two addresses")
	}
}

func TestProvesNothingWithoutAProofOrANonce(t *testing.T) {
	empty, set := state.Open(nil, state.Owner{}), state.Open(nil, state.Owner{})
	_ = set.Change(func(current state.Settings) (state.Settings, error) {
		current.EgressProof = []byte("proof")
		return current, nil
	})
	nonce := base64.StdEncoding.EncodeToString(make([]byte, nonceSize))
	for _, row := range []struct {
		store *state.Store
		body  string
		want  int
	}{
		{empty, `{"nonce":"` + nonce + `"}`, http.StatusNotFound},
		{set, `{"nonce":""}`, http.StatusBadRequest},
		{set, `{"nonce":"` + nonce + nonce + `"}`, http.StatusBadRequest},
		{set, "nonce", http.StatusBadRequest},
	} {
		server := httptest.NewServer(Prove(row.store))
		response, err := http.Post(server.URL, "application/json", bytes.NewReader([]byte(row.body)))
		server.Close()
		if err != nil || response.StatusCode != row.want {
			t.Errorf("%s: %v %v", row.body, response, err)
		}
	}
}

func TestOnlyASignedInitSetsTheProof(t *testing.T) {
	body := `{"sandlot":{"egress":{"proof":"cHJvb2Y="}}}`
	store := state.Open(nil, state.Owner{})
	request := httptest.NewRequest(http.MethodPost, "/init", bytes.NewReader([]byte(body)))
	(&Init{Store: store, SandboxUID: "uid"}).ServeHTTP(httptest.NewRecorder(), request)
	if got := store.Current(); len(got.EgressProof) > 0 || !got.Initialized {
		t.Errorf("an unsigned body set it: %+v", got)
	}
	signed := mergeSigned(state.Settings{}, initBody{}, 1)
	if len(signed.EgressProof) > 0 {
		t.Error("a body without a proof sets one")
	}
	var parsed initBody
	if err := json.Unmarshal([]byte(body), &parsed); err != nil {
		t.Fatal(err)
	}
	next := mergeSigned(state.Settings{}, parsed, 1)
	if string(next.EgressProof) != "proof" || string(mergeSigned(next, initBody{}, 2).EgressProof) != "proof" {
		t.Errorf("%+v", next)
	}
}

package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sandlot.dev/runtime/internal/state"
	"sandlot.dev/runtime/internal/trust"
)

func makeCertificate(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// trusting is a daemon in debug mode that notes what programs should trust.
type trusting struct {
	store   *state.Store
	trusted []string
	failure error
}

func (d *trusting) send(body map[string]any) int {
	encoded, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	answer := httptest.NewRecorder()
	add := func(authorities string) error {
		d.trusted = append(d.trusted, authorities)
		return d.failure
	}
	(&Init{Store: d.store, Trust: add}).ServeHTTP(answer, httptest.NewRequest("POST", "/init", strings.NewReader(string(encoded))))
	return answer.Code
}

func TestInitMakesProgramsTrustABundleUntilItNamesAnotherOne(t *testing.T) {
	d := &trusting{store: state.Open(nil, state.Owner{})}
	first, second := makeCertificate(t), makeCertificate(t)
	for _, row := range []struct {
		name string
		body map[string]any
		want []string
	}{
		{"no bundle", map[string]any{}, nil},
		{"a bundle", map[string]any{"caBundle": "# a comment\n" + first}, []string{first}},
		{"the same again", map[string]any{"caBundle": first}, []string{first}},
		{"an empty one", map[string]any{"caBundle": ""}, []string{first}},
		{"another one", map[string]any{"caBundle": second, "timestamp": "2026-01-02T00:00:00Z"}, []string{first, second}},
		{"one that comes late", map[string]any{"caBundle": first, "timestamp": "2026-01-01T00:00:00Z"}, []string{first, second}},
	} {
		if status := d.send(row.body); status != http.StatusNoContent || fmt.Sprint(d.trusted) != fmt.Sprint(row.want) {
			t.Errorf("%s: %d, %d bundles", row.name, status, len(d.trusted))
		}
	}
	if d.store.Current().CABundle != second {
		t.Error("the bundle is not among the settings that outlive a restart")
	}
}

func TestInitRefusesABundleThatHasNoCertificates(t *testing.T) {
	valid := makeCertificate(t)
	for name, bundle := range map[string]any{
		"text": "hello", "text behind it": valid + "hello", "a number": 1, "a key": strings.ReplaceAll(valid, "CERTIFICATE", "PRIVATE KEY"),
		"a large one": strings.Repeat(valid, trust.MaxBytes/len(valid)+1),
	} {
		d := &trusting{store: state.Open(nil, state.Owner{})}
		if status := d.send(map[string]any{"caBundle": bundle, "accessToken": "t"}); status != http.StatusBadRequest || len(d.trusted) != 0 {
			t.Errorf("%s: %d", name, status)
		}
		if got := d.store.Current(); got.Initialized || got.AccessToken != "" {
			t.Errorf("%s: the rest of the body was taken", name)
		}
	}
}

func TestInitFailsAsAWholeIfABundleCannotBeStored(t *testing.T) {
	d := &trusting{store: state.Open(nil, state.Owner{}), failure: errors.New("no space left on device")}
	bundle := makeCertificate(t)
	body := map[string]any{"caBundle": bundle, "accessToken": "t"}
	if status := d.send(body); status != http.StatusInternalServerError || d.store.Current().AccessToken != "" {
		t.Errorf("answered %d", status)
	}
	d.failure = nil
	if status := d.send(body); status != http.StatusNoContent || len(d.trusted) != 2 || d.store.Current().CABundle != bundle {
		t.Errorf("once there is space: %d", status)
	}
}

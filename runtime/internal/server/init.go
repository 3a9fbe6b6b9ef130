package server

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"sandlot.dev/runtime/internal/config"
	"sandlot.dev/runtime/internal/httpx"
	"sandlot.dev/runtime/internal/state"
	"sandlot.dev/runtime/internal/trust"
)

// maxInitBytes bounds the body of /init: the largest environment in a Secret, and its encoding.
const maxInitBytes = 4 << 20

// SandboxHeader names the sandbox that the caller means. A pod may have taken over the address of another.
const SandboxHeader = "X-Sandlot-Sandbox"

// Reasons why the daemon refuses a signed /init.
const (
	// RefusedSandbox means that the call is for another sandbox.
	RefusedSandbox httpx.Refusal = "other-sandbox"
	// RefusedKey means that the call is for this sandbox, but signed with a key that this daemon does not trust, such as
	// the key of a later installation.
	RefusedKey httpx.Refusal = "unknown-key"
	// RefusedTime means that the daemon has accepted a later signature.
	RefusedTime httpx.Refusal = "not-newer"
)

// Init serves POST /init (docs/reference/runtime.md#init).
type Init struct {
	Store *state.Store
	// PublicKeys are the installation's keys, more than one while it rotates them; none in debug mode.
	PublicKeys []ed25519.PublicKey
	SandboxUID string
	// Restored means that the daemon came into this Pod from a snapshot.
	Restored bool
	// Mark has the files that name the sandbox say what the settings of now say; nil: there are none.
	Mark func()
	// Trust makes programs trust these authorities, in PEM, in place of those of an earlier /init.
	Trust func(authorities string) error
}

// RestoredHeader tells the installation, in the answer to /init, that processes of a snapshot run in this Pod.
const RestoredHeader = "X-Sandlot-Restored"

type initBody struct {
	EnvVars        map[string]string `json:"envVars"`
	AccessToken    *string           `json:"accessToken"`
	Timestamp      *time.Time        `json:"timestamp"`
	DefaultUser    *string           `json:"defaultUser"`
	DefaultWorkdir *string           `json:"defaultWorkdir"`
	// CABundle has authorities for programs to trust, in PEM. Empty: those of the last /init stay.
	CABundle string `json:"caBundle"`
	// VolumeMounts are those of E2B, which its daemon mounts. Volumes come with the Pod here.
	VolumeMounts []json.RawMessage `json:"volumeMounts"`
	Sandlot      struct {
		// Sandbox has the ids by which clients know the sandbox. Only a signed body can set them.
		Sandbox *struct {
			ID       string `json:"id"`
			Template string `json:"template"`
		} `json:"sandbox"`
		// Exec opens the agent-sandbox API. The API has no authentication, so only a signed body can set it.
		Exec   *bool `json:"exec"`
		Egress struct {
			// Proof is in base64. Only a signed body can set it.
			Proof []byte `json:"proof"`
		} `json:"egress"`
	} `json:"sandlot"`
}

func (i *Init) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if failure := i.serve(w, r); failure != nil {
		httpx.WriteError(w, failure)
		return
	}
	w.Header().Set("X-Envd-Version", config.Version)
	w.Header().Set("Cache-Control", "no-store")
	if i.Restored {
		w.Header().Set(RestoredHeader, "true")
	}
	w.WriteHeader(http.StatusNoContent)
}

func (i *Init) serve(w http.ResponseWriter, r *http.Request) *httpx.Error {
	httpx.Patient(w, r)
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxInitBytes))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return httpx.Fail(http.StatusRequestEntityTooLarge, "the body is larger than 4 MiB")
		}
		return httpx.Fail(http.StatusBadRequest, "the body could not be read")
	}
	err = i.Store.Change(func(current state.Settings) (state.Settings, error) {
		signedAt, failure := i.authorise(r, raw, current)
		if failure != nil {
			return current, failure
		}
		body, failure := readBody(raw)
		if failure != nil {
			return current, failure
		}
		next := merge(current, body)
		if signedAt > 0 {
			next = mergeSigned(next, body, signedAt)
		}
		if next.CABundle == current.CABundle {
			return next, nil
		}
		return next, i.Trust(next.CABundle)
	})
	if err == nil && i.Mark != nil {
		i.Mark()
	}
	var failure *httpx.Error
	if errors.As(err, &failure) {
		return failure
	}
	if err != nil {
		return httpx.Fail(http.StatusInternalServerError, err.Error())
	}
	return nil
}

func readBody(raw []byte) (initBody, *httpx.Error) {
	var body initBody
	if len(raw) == 0 {
		return body, nil
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return body, httpx.Fail(http.StatusBadRequest, "the body is not the JSON expected: "+err.Error())
	}
	if len(body.VolumeMounts) > 0 {
		return body, httpx.Fail(http.StatusBadRequest, "volumeMounts: the daemon mounts none, volumes come with the Pod")
	}
	authorities, err := trust.Certificates(body.CABundle)
	if err != nil {
		return body, httpx.Fail(http.StatusBadRequest, "caBundle: "+err.Error())
	}
	body.CABundle = authorities
	return body, nil
}

// merge applies a body. A body that is older than the last one changes nothing.
func merge(current state.Settings, body initBody) state.Settings {
	next := current
	next.Initialized = true
	if body.Timestamp != nil {
		at := body.Timestamp.UnixNano()
		if at < current.SaidAt {
			return next
		}
		next.SaidAt = at
	}
	next.AccessToken = ""
	if body.AccessToken != nil {
		next.AccessToken = *body.AccessToken
	}
	if body.EnvVars != nil {
		next.EnvVars = body.EnvVars
	}
	if body.CABundle != "" {
		next.CABundle = body.CABundle
	}
	if body.DefaultUser != nil && *body.DefaultUser != "" {
		next.DefaultUser = *body.DefaultUser
	}
	if body.DefaultWorkdir != nil && *body.DefaultWorkdir != "" {
		next.Workdir = *body.DefaultWorkdir
	}
	return next
}

// mergeSigned applies what only the installation may set. What a body leaves out stays.
func mergeSigned(next state.Settings, body initBody, signedAt int64) state.Settings {
	next.SignedAt = signedAt
	if body.Sandlot.Exec != nil {
		next.Exec = body.Sandlot.Exec
	}
	if body.Sandlot.Sandbox != nil {
		next.SandboxID, next.TemplateID = body.Sandlot.Sandbox.ID, body.Sandlot.Sandbox.Template
	}
	if len(body.Sandlot.Egress.Proof) > 0 {
		next.EgressProof = body.Sandlot.Egress.Proof
	}
	return next
}

// authorise returns the timestamp of the signature. It is 0 if the request has the current token instead, or in debug
// mode no token is set yet.
func (i *Init) authorise(r *http.Request, body []byte, current state.Settings) (int64, *httpx.Error) {
	if len(i.PublicKeys) > 0 && r.Header.Get("X-Sandlot-Signature") != "" {
		return i.verify(r, body, current)
	}
	if current.AccessToken != "" {
		if SameToken(r.Header.Get(TokenHeader), current.AccessToken) {
			return 0, nil
		}
		return 0, httpx.Fail(http.StatusUnauthorized, "the header X-Access-Token is missing or wrong")
	}
	if len(i.PublicKeys) > 0 {
		return 0, httpx.Fail(http.StatusUnauthorized, "the header X-Sandlot-Signature is missing")
	}
	return 0, nil
}

func (i *Init) verify(r *http.Request, body []byte, current state.Settings) (int64, *httpx.Error) {
	stamp := r.Header.Get("X-Sandlot-Timestamp")
	at, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || at <= 0 {
		return 0, httpx.Fail(http.StatusUnauthorized, "the header X-Sandlot-Timestamp must be Unix milliseconds")
	}
	signature, err := base64.StdEncoding.DecodeString(r.Header.Get("X-Sandlot-Signature"))
	if err != nil || !i.isSigned(SignedText(i.SandboxUID, stamp, body), signature) {
		return 0, httpx.Refuse(i.mistake(r), "the signature is not one for this sandbox and body")
	}
	if at <= current.SignedAt {
		return 0, httpx.Refuse(RefusedTime, "the signature is not newer than the last one accepted")
	}
	return at, nil
}

// isSigned says whether one of the installation's keys has made the signature.
func (i *Init) isSigned(text, signature []byte) bool {
	return slices.ContainsFunc(i.PublicKeys, func(key ed25519.PublicKey) bool { return ed25519.Verify(key, text, signature) })
}

// mistake returns what is wrong with a signature that does not match.
func (i *Init) mistake(r *http.Request) httpx.Refusal {
	if meant := r.Header.Get(SandboxHeader); meant != "" && meant != i.SandboxUID {
		return RefusedSandbox
	}
	return RefusedKey
}

// SignedText returns the text that the installation signs. It binds a body to one sandbox and one moment.
func SignedText(sandboxUID, unixMs string, body []byte) []byte {
	sum := sha256.Sum256(body)
	return []byte("sandlot-init-v1\n" + sandboxUID + "\n" + unixMs + "\n" + hex.EncodeToString(sum[:]))
}

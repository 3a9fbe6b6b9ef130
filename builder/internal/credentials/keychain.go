package credentials

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"sandlot.dev/egress/secret"
)

// Keychain reads a Docker config JSON anew for each question, so that a renewed Secret holds at once.
type Keychain struct {
	// File may be empty: there are no credentials.
	File string
}

// ErrFile says that the file cannot be read. It quotes nothing of it.
var ErrFile = errors.New("the file with credentials of registries is no Docker config JSON")

type login struct {
	Auth          string `json:"auth"`
	Username      string `json:"username"`
	Password      string `json:"password"`
	IdentityToken string `json:"identitytoken"`
}

// Resolve implements authn.Keychain.
func (k Keychain) Resolve(target authn.Resource) (authn.Authenticator, error) {
	if k.File == "" {
		return authn.Anonymous, nil
	}
	text, err := os.ReadFile(k.File)
	if err != nil {
		return nil, err
	}
	var read struct {
		Auths map[string]login `json:"auths"`
	}
	if json.Unmarshal(text, &read) != nil {
		return nil, ErrFile
	}
	for host, found := range read.Auths {
		if hostOf(host) == target.RegistryStr() {
			return found.authenticator()
		}
	}
	return authn.Anonymous, nil
}

// hostOf returns the host of a key, which may be a URL.
func hostOf(key string) string {
	if _, rest, found := strings.Cut(key, "://"); found {
		key = rest
	}
	host, _, _ := strings.Cut(key, "/")
	if host == "docker.io" {
		return name.DefaultRegistry
	}
	return host
}

func (l login) authenticator() (authn.Authenticator, error) {
	if l.IdentityToken != "" {
		return identity{secret.New(l.IdentityToken)}, nil
	}
	user, password := l.Username, l.Password
	if l.Auth != "" {
		pair, err := base64.StdEncoding.DecodeString(l.Auth)
		if err != nil {
			return nil, ErrFile
		}
		found := false
		if user, password, found = strings.Cut(string(pair), ":"); !found {
			return nil, ErrFile
		}
	}
	return Basic{user, secret.New(password)}, nil
}

type identity struct{ token secret.Value }

// Authorization implements authn.Authenticator.
func (i identity) Authorization() (*authn.AuthConfig, error) {
	return &authn.AuthConfig{IdentityToken: i.token.Reveal()}, nil
}

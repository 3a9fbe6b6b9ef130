// Package credentials reads what tenants and the operator sign in with at registries.
package credentials

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"sandlot.dev/egress/secret"
)

// ErrBad says that the credentials are of no known kind, or lack a field. It quotes nothing of them.
var ErrBad = errors.New("credentials are of type registry (username, password), aws (awsAccessKeyId, awsSecretAccessKey, awsRegion) or gcp (serviceAccountJson)")

// Given are the credentials of a tenant for one registry.
type Given struct {
	kind     string
	user     string
	password secret.Value
	region   string
}

// UnmarshalJSON reads the object that a client of E2B sends as fromImageRegistry.
func (g *Given) UnmarshalJSON(text []byte) error {
	var read struct {
		Type                                          string
		Username, Password                            string
		AWSAccessKeyID, AWSSecretAccessKey, AWSRegion string
		ServiceAccountJSON                            string
	}
	if json.Unmarshal(text, &read) != nil {
		return ErrBad
	}
	switch read.Type {
	case "registry":
		*g = Given{kind: read.Type, user: read.Username, password: secret.New(read.Password)}
	case "aws":
		*g = Given{kind: read.Type, user: read.AWSAccessKeyID, password: secret.New(read.AWSSecretAccessKey), region: read.AWSRegion}
	case "gcp":
		*g = Given{kind: read.Type, user: "_json_key", password: secret.New(read.ServiceAccountJSON)}
	}
	if g.user == "" || g.password.Reveal() == "" || g.kind == "aws" && !isRegion(g.region) {
		*g = Given{}
		return ErrBad
	}
	return nil
}

// Values are what no line of the log may show.
func (g *Given) Values() []secret.Value {
	if g == nil {
		return nil
	}
	return []secret.Value{g.password}
}

// Exchange turns the credentials into those that the registry takes. Those of AWS are exchanged over the transport.
func (g *Given) Exchange(ctx context.Context, transport http.RoundTripper) (authn.Authenticator, error) {
	if g == nil {
		return authn.Anonymous, nil
	}
	if g.kind != "aws" {
		return Basic{g.user, g.password}, nil
	}
	return exchange(ctx, transport, signature{key{g.user, g.password, g.region}, "ecr", time.Now()})
}

// Basic is a user and a password that no way of printing shows.
type Basic struct {
	User     string
	Password secret.Value
}

// Authorization implements authn.Authenticator.
func (b Basic) Authorization() (*authn.AuthConfig, error) {
	return &authn.AuthConfig{Username: b.User, Password: b.Password.Reveal()}, nil
}

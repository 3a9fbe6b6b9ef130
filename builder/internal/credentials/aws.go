package credentials

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"sandlot.dev/egress/secret"
)

const (
	algorithm   = "AWS4-HMAC-SHA256"
	tokenAction = "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken"
	// mostAnswer is more than any answer of ECR has.
	mostAnswer = 1 << 20
)

// regionForm keeps a region from being another host.
var regionForm = regexp.MustCompile(`^[a-z]{2}(-[a-z]{1,16}){1,3}-\d{1,2}$`)

func isRegion(text string) bool { return regionForm.MatchString(text) }

// ErrAWS says that AWS gave no token. It quotes nothing of the answer.
var ErrAWS = errors.New("AWS refuses the credentials")

type key struct {
	id     string
	secret secret.Value
	region string
}

// exchange asks ECR of the region for a password.
func exchange(ctx context.Context, transport http.RoundTripper, s signature) (authn.Authenticator, error) {
	domain := "amazonaws.com"
	if strings.HasPrefix(s.key.region, "cn-") {
		domain += ".cn"
	}
	body := []byte("{}")
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://api.ecr."+s.key.region+"."+domain+"/", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.1")
	request.Header.Set("X-Amz-Target", tokenAction)
	sign(request, body, s)
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, mostAnswer))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: status %d", ErrAWS, response.StatusCode)
	}
	return readToken(text)
}

func readToken(text []byte) (authn.Authenticator, error) {
	var answer struct {
		AuthorizationData []struct {
			AuthorizationToken string `json:"authorizationToken"`
		} `json:"authorizationData"`
	}
	if json.Unmarshal(text, &answer) != nil || len(answer.AuthorizationData) == 0 {
		return nil, ErrAWS
	}
	pair, err := base64.StdEncoding.DecodeString(answer.AuthorizationData[0].AuthorizationToken)
	user, password, found := strings.Cut(string(pair), ":")
	if err != nil || !found {
		return nil, ErrAWS
	}
	return Basic{user, secret.New(password)}, nil
}

type signature struct {
	key     key
	service string
	now     time.Time
}

// sign adds the headers of AWS Signature Version 4 to a request without a query.
func sign(request *http.Request, body []byte, s signature) {
	stamp := s.now.UTC().Format("20060102T150405Z")
	request.Header.Set("X-Amz-Date", stamp)
	names := []string{"host"}
	for name := range request.Header {
		names = append(names, strings.ToLower(name))
	}
	slices.Sort(names)
	var headers strings.Builder
	for _, name := range names {
		value := request.Header.Get(name)
		if name == "host" {
			value = request.URL.Host
		}
		headers.WriteString(name + ":" + strings.TrimSpace(value) + "\n")
	}
	signed := strings.Join(names, ";")
	canonical := strings.Join([]string{request.Method, "/", "", headers.String(), signed, digest(body)}, "\n")
	scope := strings.Join([]string{stamp[:8], s.key.region, s.service, "aws4_request"}, "/")
	text := strings.Join([]string{algorithm, stamp, scope, digest([]byte(canonical))}, "\n")
	mac := []byte("AWS4" + s.key.secret.Reveal())
	for _, part := range append(strings.Split(scope, "/"), text) {
		mac = macOf(mac, part)
	}
	request.Header.Set("Authorization", fmt.Sprintf("%s Credential=%s/%s, SignedHeaders=%s, Signature=%x", algorithm, s.key.id, scope, signed, mac))
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func macOf(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

package credentials

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"sandlot.dev/egress/secret"
)

// The first case of the suite that AWS publishes for Signature Version 4, "get-vanilla".
func TestSignsAsAWSDoes(t *testing.T) {
	request, err := http.NewRequest(http.MethodGet, "https://example.amazonaws.com/", nil)
	if err != nil {
		t.Fatal(err)
	}
	k := key{"AKIDEXAMPLE", secret.New("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"), "us-east-1"}
	sign(request, nil, signature{k, "service", time.Date(2015, 8, 30, 12, 36, 0, 0, time.UTC)})
	const want = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, " +
		"Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
	if got := request.Header.Get("Authorization"); got != want {
		t.Errorf("the signature is %s, want %s", got, want)
	}
}

// answering is AWS.
type answering struct {
	status int
	body   string
	asked  *http.Request
}

func (a *answering) RoundTrip(request *http.Request) (*http.Response, error) {
	a.asked = request
	return &http.Response{StatusCode: a.status, Body: io.NopCloser(strings.NewReader(a.body))}, nil
}

const awsKey = `{"type":"aws","awsAccessKeyId":"AKID","awsSecretAccessKey":"aws-secret","awsRegion":"%s"}`

func TestExchangesAKeyOfAWS(t *testing.T) {
	token := base64.StdEncoding.EncodeToString([]byte("AWS:token:of:ecr"))
	for region, host := range map[string]string{"eu-central-1": "api.ecr.eu-central-1.amazonaws.com", "cn-north-1": "api.ecr.cn-north-1.amazonaws.com.cn"} {
		var given Given
		if err := json.Unmarshal(fmt.Appendf(nil, awsKey, region), &given); err != nil {
			t.Fatal(err)
		}
		aws := &answering{status: 200, body: `{"authorizationData":[{"authorizationToken":"` + token + `"}]}`}
		auth, err := given.Exchange(t.Context(), aws)
		if err != nil {
			t.Fatal(err)
		}
		got, err := auth.Authorization()
		if err != nil || got.Username != "AWS" || got.Password != "token:of:ecr" {
			t.Errorf("it signs in as %+v (%v)", got, err)
		}
		if aws.asked.URL.Host != host || aws.asked.Header.Get("X-Amz-Target") != tokenAction || !strings.Contains(aws.asked.Header.Get("Authorization"), "content-type;host;x-amz-date;x-amz-target") {
			t.Errorf("it asked %s with %v", aws.asked.URL, aws.asked.Header)
		}
	}
	for name, aws := range map[string]*answering{
		"a refusal": {status: 400, body: "aws-secret"}, "no JSON": {status: 200, body: "aws-secret"}, "no token": {status: 200, body: `{"authorizationData":[]}`},
		"a token that is none": {status: 200, body: `{"authorizationData":[{"authorizationToken":"aws-secret"}]}`},
	} {
		_, err := exchange(context.Background(), aws, signature{key{"AKID", secret.New("aws-secret"), "eu-central-1"}, "ecr", time.Now()})
		if !errors.Is(err, ErrAWS) || strings.Contains(err.Error(), "aws-secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadsWhatClientsSend(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"registry","username":"u","password":"p"}`: "u p",
		`{"type":"gcp","serviceAccountJson":"{}"}`:          "_json_key {}",
		`{"type":"registry","username":"u"}`:                "",
		`{"type":"other","username":"u","password":"p"}`:    "",
		`[]`: "",
		strings.Replace(awsKey, "%s", "x.test", 1):      "",
		strings.Replace(awsKey, "%s", "eu-1@x.test", 1): "",
	} {
		var given Given
		err := json.Unmarshal([]byte(text), &given)
		got := ""
		if err == nil {
			got = given.user + " " + given.password.Reveal()
		}
		if got != want || want == "" && !errors.Is(err, ErrBad) {
			t.Errorf("%s: %q (%v)", text, got, err)
		}
		if printed := fmt.Sprintf("%v %+v %#v", given, &given, given); strings.Contains(printed, `:p"`) || strings.Contains(printed, " p ") {
			t.Errorf("it prints %s", printed)
		}
	}
}

func FuzzNoErrorQuotesCredentials(f *testing.F) {
	f.Add([]byte(`{"type":"registry","username":"u","password":"secret-text"}`))
	f.Add([]byte(`{"type":"aws","awsRegion":7,"password":"secret-text"`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var given Given
		if err := given.UnmarshalJSON(text); err != nil && (!errors.Is(err, ErrBad) || err.Error() != ErrBad.Error()) {
			t.Errorf("it says %v", err)
		}
		if given.kind == "aws" && strings.ContainsAny(given.region, "./@:?#") {
			t.Errorf("the region is %q", given.region)
		}
	})
}

func TestReadsTheFileAnew(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	keychain := Keychain{file}
	resolve := func(host string) string {
		registry, err := name.NewRegistry(host)
		if err != nil {
			t.Fatal(err)
		}
		auth, err := keychain.Resolve(registry)
		if err != nil {
			return err.Error()
		}
		config, err := auth.Authorization()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join([]string{config.Username, config.Password, config.IdentityToken}, " ")
	}
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"auths":{"https://index.docker.io/v1/":{"auth":"` + base64.StdEncoding.EncodeToString([]byte("u:p:q")) + `"},"a.test:5000":{"identitytoken":"i"},"b.test":{"username":"v","password":"w"}}}`)
	for host, want := range map[string]string{"docker.io": "u p:q ", "a.test:5000": "  i", "b.test": "v w ", "c.test": "  "} {
		if got := resolve(host); got != want {
			t.Errorf("%s: %q, want %q", host, got, want)
		}
	}
	write(`{"auths":{"b.test":{"username":"v","password":"renewed"}}}`)
	if got := resolve("b.test"); got != "v renewed " {
		t.Errorf("after a change: %q", got)
	}
	write(`{"auths":{"b.test":{"auth":"hidden-text"}}`)
	if got := resolve("b.test"); got != ErrFile.Error() {
		t.Errorf("a file that is none: %s", got)
	}
	if auth, err := (Keychain{}).Resolve(authnResource("x")); auth != authn.Anonymous || err != nil {
		t.Errorf("without a file: %v (%v)", auth, err)
	}
}

type authnResource string

func (a authnResource) String() string      { return string(a) }
func (a authnResource) RegistryStr() string { return string(a) }

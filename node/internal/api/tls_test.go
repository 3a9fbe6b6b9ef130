package api_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sandlot.dev/node/internal/api"
	"sandlot.dev/node/internal/apitest"
)

func (n *node) isLetIn(client *http.Client) bool {
	response, err := client.Get(n.url + "/v1/node")
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

func TestOnlyTheControllerIsLetIn(t *testing.T) {
	n := newNode(t)
	stranger := apitest.NewAuthority(t)
	expired := func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }
	forServers := func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }
	withoutName := func(c *x509.Certificate) { c.DNSNames = nil }
	old := n.controller()
	old.Transport.(*http.Transport).TLSClientConfig.MaxVersion = tls.VersionTLS12
	rows := map[string]struct {
		client *http.Client
		want   bool
	}{
		"the controller":                         {n.controller(), true},
		"no certificate":                         {n.ca.Client(), false},
		"a certificate of another authority":     {n.ca.Client(stranger.Issue(t, "snapshot-controller")), false},
		"the certificate of an agent":            {n.ca.Client(n.ca.Issue(t, "sandlot-node")), false},
		"a name that contains the controller's":  {n.ca.Client(n.ca.Issue(t, "snapshot-controller.evil")), false},
		"a wildcard":                             {n.ca.Client(n.ca.Issue(t, "*")), false},
		"only the common name of the controller": {n.ca.Client(n.ca.Issue(t, "", withoutName)), false},
		"an expired certificate":                 {n.ca.Client(n.ca.Issue(t, "snapshot-controller", expired)), false},
		"a certificate for servers":              {n.ca.Client(n.ca.Issue(t, "snapshot-controller", forServers)), false},
		"TLS 1.2":                                {old, false},
	}
	for name, row := range rows {
		if got := n.isLetIn(row.client); got != row.want {
			t.Errorf("%s: let in: %t", name, got)
		}
	}
	if response, err := http.Get("http://" + n.url[len("https://"):] + "/v1/node"); err == nil {
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			t.Error("it answers without TLS")
		}
	}
}

func TestRotatedFilesAreUsedWithoutARestart(t *testing.T) {
	n := newNode(t)
	before := n.controller()
	next := apitest.NewAuthority(t)
	next.Write(t, n.tls, next.Issue(t, "sandlot-node"))
	if !n.isLetIn(next.Client(next.Issue(t, "snapshot-controller"))) {
		t.Error("the controller of the next authority is not let in")
	}
	before.Transport.(*http.Transport).TLSClientConfig.InsecureSkipVerify = true
	if n.isLetIn(before) {
		t.Error("the controller of the earlier authority is still let in")
	}
}

func TestFilesInTheMiddleOfARotationLeaveTheEarlierOnes(t *testing.T) {
	for name, text := range map[string]string{"tls.key": "", "tls.crt": "cut", "ca.crt": "none"} {
		n := newNode(t)
		if err := os.WriteFile(filepath.Join(n.tls, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if !n.isLetIn(n.controller()) {
			t.Errorf("with a broken %s the API refuses the controller", name)
		}
	}
}

func TestAgentWithoutUsableFilesDoesNotStart(t *testing.T) {
	ca := apitest.NewAuthority(t)
	for _, name := range []string{"tls.key", "tls.crt", "ca.crt"} {
		folder := t.TempDir()
		ca.Write(t, folder, ca.Issue(t, "sandlot-node"))
		if err := os.Remove(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
		if _, err := api.OpenIdentity(folder); err == nil {
			t.Errorf("it starts without %s", name)
		}
	}
}

func TestSocketIsForRootAndReplacesAnEarlierOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run", "node.sock")
	for range 2 {
		listener, err := api.ListenUnix(path)
		if err != nil {
			t.Fatal(err)
		}
		// As after a kill: the file stays.
		listener.(*net.UnixListener).SetUnlinkOnClose(false)
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("got %v, %v", info.Mode(), err)
		}
		folder, err := os.Stat(filepath.Dir(path))
		if err != nil || folder.Mode().Perm() != 0o700 {
			t.Errorf("the folder: %v, %v", folder.Mode(), err)
		}
		listener.Close()
	}
}

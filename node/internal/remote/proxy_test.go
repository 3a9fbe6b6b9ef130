package remote

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// proxy stands before the server.
type proxy struct {
	mutex sync.Mutex
	// sent counts the chunks that passed.
	sent int
	// answer takes a request that it does not want to pass, and reports so.
	answer func(http.ResponseWriter, *http.Request) bool
}

// isChunk reports whether the request is for a chunk.
func isChunk(r *http.Request) bool {
	return strings.Contains(r.URL.Path, oneUID+"/") && !strings.HasSuffix(r.URL.Path, manifestObject) && r.Method != http.MethodDelete
}

// before puts a proxy between the node and its server.
func before(t *testing.T, s Settings) (Settings, *proxy) {
	t.Helper()
	target, err := url.Parse(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	// Signatures are for the host that the client asks.
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host }}
	p := &proxy{}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mutex.Lock()
		answer := p.answer
		p.mutex.Unlock()
		if answer != nil && answer(w, r) {
			return
		}
		forward.ServeHTTP(w, r)
		if isChunk(r) && r.Method == http.MethodPut {
			p.mutex.Lock()
			p.sent++
			p.mutex.Unlock()
		}
	}))
	t.Cleanup(front.Close)
	s.Endpoint = front.URL
	return s, p
}

func (p *proxy) set(answer func(http.ResponseWriter, *http.Request) bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.answer, p.sent = answer, 0
}

func (p *proxy) count() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.sent
}

// hold makes requests for chunks wait for their caller, and reports that one does.
func (p *proxy) hold() (held <-chan struct{}) {
	one := make(chan struct{}, 100)
	p.set(func(_ http.ResponseWriter, r *http.Request) bool {
		if !isChunk(r) {
			return false
		}
		// Only after the body a server notices that its caller has gone.
		_, _ = io.Copy(io.Discard, r.Body)
		one <- struct{}{}
		<-r.Context().Done()
		return true
	})
	return one
}

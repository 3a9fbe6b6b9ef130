package httpx

import (
	"io"
	"net/http"
	"time"
)

// bodyIdle is how long the body of a request may be silent.
const bodyIdle = 60 * time.Second

// Patient fails the reading of a body with os.ErrDeadlineExceeded when no byte arrives for bodyIdle. Otherwise the
// daemon would wait forever for a client that stops in the middle of a request.
func Patient(w http.ResponseWriter, r *http.Request) {
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &patient{ReadCloser: r.Body, controller: http.NewResponseController(w)}
	}
}

type patient struct {
	io.ReadCloser
	controller *http.ResponseController
}

func (p *patient) Read(buffer []byte) (int, error) {
	_ = p.controller.SetReadDeadline(time.Now().Add(bodyIdle))
	n, err := p.ReadCloser.Read(buffer)
	if err != nil {
		// After the body the server reads only to notice a disconnect, which needs no deadline.
		_ = p.controller.SetReadDeadline(time.Time{})
	}
	return n, err
}

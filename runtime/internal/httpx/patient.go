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
		controller := http.NewResponseController(w)
		// Also for a handler that reads nothing: the server reads the rest of a body before it answers.
		_ = controller.SetReadDeadline(time.Now().Add(bodyIdle))
		r.Body = &patient{ReadCloser: r.Body, controller: controller, giveUp: func() {
			if r.ProtoMajor == 1 {
				w.Header().Set("Connection", "close")
			}
		}}
	}
}

type patient struct {
	io.ReadCloser
	controller *http.ResponseController
	// failed is the error of an earlier read: a handler that reads on, to use up the body, must not wait anew.
	failed error
	// giveUp closes the connection after the answer: what the client sends later belongs to this body. Streams of HTTP/2 are apart.
	giveUp func()
}

func (p *patient) Read(buffer []byte) (int, error) {
	if p.failed != nil {
		return 0, p.failed
	}
	_ = p.controller.SetReadDeadline(time.Now().Add(bodyIdle))
	n, err := p.ReadCloser.Read(buffer)
	switch err {
	case nil:
	case io.EOF:
		// After the body the server reads only to notice a disconnect, which needs no deadline. After another error it reads
		// the rest of the body before it answers: then the deadline stays.
		_ = p.controller.SetReadDeadline(time.Time{})
	default:
		p.giveUp()
	}
	p.failed = err
	return n, err
}

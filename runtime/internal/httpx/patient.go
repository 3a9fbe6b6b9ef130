package httpx

import (
	"io"
	"net/http"
	"time"
)

// bodyIdle ends a request of whose body no byte arrives for so long.
const bodyIdle = 60 * time.Second

// Patient gives the body of a request up when it is silent for too long; reading it then fails with
// os.ErrDeadlineExceeded. Without it, whoever begins a request and stays silent would be waited for without end.
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
		// From here on the server reads only to notice that the client goes away, and that has time.
		_ = p.controller.SetReadDeadline(time.Time{})
	}
	return n, err
}

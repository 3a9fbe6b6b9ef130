package api

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// pacedReader gives each part of a body its own time: a whole file may take as long as it takes.
type pacedReader struct {
	from       io.Reader
	controller *http.ResponseController
	// failed is why the body did not arrive.
	failed error
}

func (r *pacedReader) Read(into []byte) (int, error) {
	if err := r.controller.SetReadDeadline(time.Now().Add(stillness)); err != nil {
		return 0, err
	}
	count, err := r.from.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		r.failed = err
	}
	return count, err
}

type pacedWriter struct {
	to         io.Writer
	controller *http.ResponseController
}

func paced(writer http.ResponseWriter) io.Writer {
	return &pacedWriter{to: writer, controller: http.NewResponseController(writer)}
}

func (w *pacedWriter) Write(content []byte) (int, error) {
	if err := w.controller.SetWriteDeadline(time.Now().Add(stillness)); err != nil {
		return 0, err
	}
	return w.to.Write(content)
}

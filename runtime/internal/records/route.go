package records

import (
	"net/http"
	"strconv"

	"sandlot.dev/runtime/internal/httpx"
)

// Path is where the daemon serves the records.
const Path = "/records"

type answer struct {
	Now     int64    `json:"now"`
	Records []Record `json:"records"`
}

// Handler serves GET /records?from=<Unix milliseconds>.
func (l *Log) Handler() http.Handler {
	return httpx.Handle(func(w http.ResponseWriter, r *http.Request) *httpx.Error {
		from := int64(0)
		if text := r.URL.Query().Get("from"); text != "" {
			parsed, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return httpx.Fail(http.StatusBadRequest, "from: expected whole Unix milliseconds")
			}
			from = parsed
		}
		found, now := l.Since(from)
		w.Header().Set("Cache-Control", "no-store")
		httpx.WriteJSON(w, http.StatusOK, answer{Now: now, Records: found})
		return nil
	})
}

package response

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
)

// Answer is the answer of a handler to Ask.
type Answer struct {
	Code   int
	Header http.Header
	Body   []byte
}

// Ask sends a handler a GET for a path in the name of the request: with its context and its user.
func Ask(h http.Handler, r *http.Request, path, accept string) Answer {
	q := r.Clone(r.Context())
	q.URL.Path, q.URL.RawPath, q.URL.RawQuery, q.RequestURI = path, "", "", path
	q.Header.Set("Accept", accept)
	q.Header.Del("If-None-Match")
	q.Header.Del("Accept-Encoding")
	w := &recorder{header: http.Header{}, code: http.StatusOK}
	h.ServeHTTP(w, q)
	return Answer{w.code, w.header, w.body.Bytes()}
}

// Replay writes the answer unchanged.
func (a Answer) Replay(w http.ResponseWriter) {
	for k, v := range a.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(a.Code)
	w.Write(a.Body)
}

type recorder struct {
	header http.Header
	body   bytes.Buffer
	code   int
}

// Header implements http.ResponseWriter.
func (r *recorder) Header() http.Header { return r.header }

// Write implements http.ResponseWriter.
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(code int) { r.code = code }

// WriteJSON answers with v as JSON, as WriteBody does.
func WriteJSON(w http.ResponseWriter, r *http.Request, contentType string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		Write(w, Status(http.StatusInternalServerError, "InternalError", "encode answer: "+err.Error()))
		return
	}
	WriteBody(w, r, contentType, b)
}

// WriteBody answers with a body and its ETag, or with 304 if the client has that body.
func WriteBody(w http.ResponseWriter, r *http.Request, contentType string, body []byte) {
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:16]) + `"`
	w.Header().Set("Etag", tag)
	w.Header().Set("Vary", "Accept")
	w.Header().Set("Cache-Control", "public")
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", contentType)
	w.Write(body)
}

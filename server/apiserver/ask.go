package apiserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
)

// answer is what one of the servers behind the front said to a question that the front asked for itself.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

// ask puts a GET to a server in the name of the request.
func ask(h http.Handler, r *http.Request, path, accept string) answer {
	q := r.Clone(r.Context())
	q.URL.Path, q.URL.RawPath, q.URL.RawQuery, q.RequestURI = path, "", "", path
	q.Header.Set("Accept", accept)
	q.Header.Del("If-None-Match")
	q.Header.Del("Accept-Encoding")
	w := &recorder{header: http.Header{}, code: http.StatusOK}
	h.ServeHTTP(w, q)
	return answer{w.code, w.header, w.body.Bytes()}
}

// replay passes the answer on as it is.
func (a answer) replay(w http.ResponseWriter) {
	for k, v := range a.header {
		w.Header()[k] = v
	}
	w.WriteHeader(a.code)
	w.Write(a.body)
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

func writeJSON(w http.ResponseWriter, r *http.Request, contentType string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		writeStatus(w, status(http.StatusInternalServerError, "InternalError", "encode answer: "+err.Error()))
		return
	}
	writeBody(w, r, contentType, b)
}

// writeBody answers with an ETag, and without the body to a client that has it.
func writeBody(w http.ResponseWriter, r *http.Request, contentType string, body []byte) {
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

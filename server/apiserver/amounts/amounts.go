// Package amounts refuses requests that write quantities with which Kubernetes would compute for
// hours, such as cpu: 1e999999999 (see package exponent). That has to be seen before the request is
// decoded: setting the defaults of a Pod rounds its quantities.
//
// A body is looked at only where it has such a number anywhere. Then the fields decide that have
// quantities by their names. Labels, annotations and data are texts, whatever they look like.
package amounts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cbor "k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/yaml"

	"skerry.dev/skerry/server/apiserver/response"
	"skerry.dev/skerry/tunnel/exponent"
)

// maxBody is how much of a body is looked at. The API server takes no larger ones.
const maxBody = 3 << 20

// Wrap returns next with the check before it.
func Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := apirequest.RequestInfoFrom(r.Context())
		writes := r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch
		if !ok || !info.IsResourceRequest || !writes || r.Body == nil || r.Header.Get("Upgrade") != "" {
			next.ServeHTTP(w, r)
			return
		}
		body := received(r)
		if len(body) <= maxBody && exponent.Candidate(body) {
			if at := absurd(r.Header.Get("Content-Type"), body); at != "" {
				response.Write(w, response.Status(http.StatusBadRequest, metav1.StatusReasonBadRequest, fmt.Sprintf(
					"%.200s: a quantity has an exponent of three digits at most: write it with a suffix, such as 500m or 2Gi", at)))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// received returns what has come of a body, or comes, and leaves the body to be read from its beginning.
func received(r *http.Request) []byte {
	from := r.Body
	if came, ok := from.(interface{ Bytes() []byte }); ok {
		return came.Bytes()
	}
	body, err := io.ReadAll(io.LimitReader(from, maxBody+1))
	rest := io.Reader(bytes.NewReader(body))
	if err != nil {
		rest = io.MultiReader(rest, failing{err})
	} else if len(body) > maxBody {
		rest = io.MultiReader(rest, from)
	}
	r.Body = partlyRead{rest, from}
	return body
}

// failing is a body that could not be read.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// partlyRead is a body of which a part was read.
type partlyRead struct {
	io.Reader
	io.Closer
}

// absurd returns the first field with an absurd quantity, "" for none. What cannot be decoded the
// API server refuses.
func absurd(contentType string, body []byte) string {
	kind, _, _ := strings.Cut(contentType, ";")
	switch {
	case strings.Contains(kind, "protobuf"):
		return inProtobuf(body)
	case strings.Contains(kind, "cbor"):
		var v any
		if cbor.Unmarshal(body, &v) != nil {
			return ""
		}
		text, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		return exponent.Find(text)
	case !json.Valid(body):
		text, err := yaml.YAMLToJSON(body)
		if err != nil {
			return ""
		}
		body = text
	}
	if kind == "application/json-patch+json" {
		return inPatch(body)
	}
	return exponent.Find(body)
}

// inPatch looks at a JSON patch. A copy may bring a text to where a quantity is, so it may come from
// such a field alone.
func inPatch(body []byte) string {
	var list []map[string]json.RawMessage
	if json.Unmarshal(body, &list) != nil {
		return ""
	}
	text := func(op map[string]json.RawMessage, field string) (out string) {
		_ = json.Unmarshal(op[field], &out) // what is no text the API server refuses
		return out
	}
	for _, op := range list {
		path, from := text(op, "path"), text(op, "from")
		found, in := exponent.FindIn(path, op["value"])
		if found != "" {
			return found
		}
		if _, fromIn := exponent.FindIn(from, nil); in && from != "" && !fromIn {
			return path + ", which is a copy of " + from
		}
	}
	return ""
}

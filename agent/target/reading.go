package target

import (
	"context"
	"net/http"
	"net/url"
)

// Reading asks for what the API of a target tells of itself, or has in one namespace.
type Reading struct {
	// Document are the segments of the path of a document about the API; nil asks for objects.
	Document []string
	Resource Resource
	// Namespace and Name are the target's. Without a name all objects are listed.
	Namespace, Name string
	Query           url.Values
	// Accept are the media types that the answer may have.
	Accept string
}

// Open sends a Reading and returns the answer, whatever its code. Redirects are not followed. The
// answer lasts as long as ctx, and its body has to be closed.
func (c *Client) Open(ctx context.Context, r Reading) (*http.Response, error) {
	path := r.Resource.Path(r.Namespace, r.Name)
	if r.Document != nil {
		path = ""
		for _, segment := range r.Document {
			path += "/" + url.PathEscape(segment)
		}
	}
	return c.stream(ctx, http.MethodGet, path, r.Query, http.Header{"Accept": {r.Accept}}, nil)
}

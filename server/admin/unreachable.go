package admin

import (
	"errors"
	"fmt"
	"net/http"

	"skerry.dev/skerry/tunnel/netreason"
)

// unreachable is the error of a request that did not get to the center.
type unreachable struct {
	host, context, why string
	err                error
}

func (e *unreachable) Error() string {
	return fmt.Sprintf("cannot reach center %s (context %s): %s", e.host, e.context, e.why)
}

func (e *unreachable) Unwrap() error { return e.err }

// Plain is an error as a person at a terminal wants it: where a center was not reached, that alone,
// without the request that was tried.
func Plain(err error) error {
	var e *unreachable
	if errors.As(err, &e) {
		return e
	}
	return err
}

// reaching makes errors of the network unreachable.
type reaching struct {
	context string // of the kubeconfig
	next    http.RoundTripper
}

func (r reaching) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if why, ok := netreason.Of(err); ok && request.Context().Err() == nil {
		err = &unreachable{host: request.URL.Host, context: r.context, why: why, err: err}
	}
	return response, err
}

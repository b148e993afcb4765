package exchange

import (
	"context"
	"errors"
	"net/http"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/mux"
)

// Sites sends requests to the targets of a center.
type Sites interface {
	// Do sends a request to a target by its name and returns the answer, whose body must be closed.
	// The error is a *Fault, or wraps ErrRequest.
	Do(ctx context.Context, target string, r *Request) (*http.Response, error)
}

// Via sends a request to a target of this center and returns the answer, whose header HeaderSite
// then begins with that target. The error is a *Fault when the target is away.
func Via(
	ctx context.Context,
	targets tunnel.StreamOpener,
	target string,
	r *Request,
) (*http.Response, error) {
	stream, err := targets.OpenStream(ctx, target)
	if err != nil {
		return nil, unreachable(target, err)
	}
	resp, err := RoundTrip(ctx, stream, r)
	if err != nil {
		return nil, unreachable(target, err)
	}
	site := target
	if below := resp.Header.Get(HeaderSite); below != "" {
		site += "/" + below
	}
	resp.Header.Set(HeaderSite, site)
	TraceOf(ctx).Take(target, resp.Header)
	return resp, nil
}

// retryAfter is when a client may ask again for a target that is away, in seconds.
const retryAfter = 10

// unreachable turns an error of a stream to a target into a Fault, but for those about the request.
func unreachable(target string, err error) error {
	if errors.Is(err, ErrRequest) {
		return err
	}
	f := &Fault{
		Code:   http.StatusServiceUnavailable,
		Reason: "ServiceUnavailable",
		After:  retryAfter,
	}
	var away *tunnel.Away
	switch {
	case errors.Is(err, mux.ErrTooManyStreams):
		f = &Fault{
			Code:    http.StatusTooManyRequests,
			Reason:  "TooManyRequests",
			Message: "site " + target + ": " + err.Error() + "; end some",
			After:   1,
		}
	case errors.As(err, &away):
		f.Message = away.Error()
	case errors.Is(err, ErrAnswer):
		f = &Fault{Code: http.StatusBadGateway, Reason: "InternalError"}
		f.Message = "site " + target + ": " + err.Error()
	default:
		f.Message = "site " + target + " cannot be reached: " + err.Error()
	}
	if f.Code == http.StatusServiceUnavailable {
		f.Message += ". Nothing was done there; try again when the site is connected (kubectl get -o wide says since when" +
			" it has been silent), or ask its cluster itself"
	}
	return f
}

package upward

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"

	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/mux"
)

// Forward passes requests for the API of a space on to the parent, by a transport of NewTransport.
// Site is the path of the site below this tier, empty where this is the site.
func Forward(up http.RoundTripper, space, site string) http.Handler {
	return &httputil.ReverseProxy{
		Transport:     expecting{up},
		FlushInterval: -1, // an event of a watch is passed on at once
		ErrorLog:      log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			u := *r.In.URL
			r.Out.URL = &url.URL{Scheme: "http", Host: "parent", Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}
			r.Out.Host = "parent"
			r.Out.Header = Request(r.In.Header, space, site)
		},
		ModifyResponse: func(resp *http.Response) error {
			if resp.StatusCode >= 300 && resp.StatusCode < 400 && resp.StatusCode != http.StatusNotModified {
				return errors.New("the parent answers with a redirect, which is not followed")
			}
			Answer(resp.Header)
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				WriteFault(w, unreachable(theAPI, err))
			}
		},
	}
}

const theAPI = "the API of the space"

// unreachable is what a client hears when the parent cannot be asked for what it wants: what an API
// server says that is down.
func unreachable(wanted string, err error) *exchange.Fault {
	if errors.Is(err, mux.ErrTooManyStreams) {
		return &exchange.Fault{
			Code: http.StatusTooManyRequests, Reason: "TooManyRequests", After: 1,
			Message: "the site has too many requests for APIs of spaces open: " + err.Error(),
		}
	}
	cause := err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		cause = "it does not answer in time"
	}
	return &exchange.Fault{
		Code: http.StatusServiceUnavailable, Reason: "ServiceUnavailable", After: 1,
		Message: wanted + " cannot be reached from this site now: " + cause,
	}
}

// WriteFault answers a request with a Status. Retry-After is in seconds, so that client libraries
// try again by themselves, as with an API server that is busy: a short cut is no error for them.
func WriteFault(w http.ResponseWriter, f *exchange.Fault) {
	resp := f.Response()
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	if f.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(f.After))
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body) // a client that has gone needs no answer
}

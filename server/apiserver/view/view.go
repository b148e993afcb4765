package view

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/audit"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	auditlog "skerry.dev/skerry/server/apiserver/audit"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
	"skerry.dev/skerry/tunnel/exchange"
)

// Sites reaches targets. Its errors are *exchange.Fault.
type Sites interface {
	// Do sends a request to a target and returns the answer, whose body must be closed.
	Do(ctx context.Context, target string, r *exchange.Request) (*http.Response, error)
}

// Handler answers the requests that Takes reports. They have been authorized by what Resolver says.
type Handler struct{ Sites Sites }

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	ctx := req.Context()
	info, resolved := apirequest.RequestInfoFrom(ctx)
	if h.Sites == nil || !resolved || request.FromCenter(ctx) {
		response.Write(w, response.NotFound())
		return
	}
	resp, r, err := h.ask(req, info)
	if err != nil {
		resp = exchange.FaultOf(err).Response()
	}
	defer resp.Body.Close()
	kind := resp.Header.Get("Content-Type")
	if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/json" {
		response.Write(
			w,
			response.Status(
				http.StatusBadGateway,
				metav1.StatusReasonInternalError,
				"the site does not answer with JSON",
			),
		)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if later := resp.Header.Get("Retry-After"); later != "" {
		w.Header().Set("Retry-After", later)
	}
	if resp.StatusCode != http.StatusOK {
		refused(w, resp, info)
		return
	}
	for _, text := range exchange.Warnings(resp.Header) {
		warning.AddWarning(ctx, "", text)
	}
	w.WriteHeader(resp.StatusCode)
	if r != nil && r.Watches() {
		passEvents(req.Context(), w, resp.Body, resp.Header.Get(exchange.HeaderSite))
		return
	}
	pass(w, resp.Body)
}

// maxRefusal bounds an answer that is no success: a Status.
const maxRefusal = 64 << 10

// refused passes a refusal on. Of a document clients drop the answer, and show warnings.
func refused(w http.ResponseWriter, resp *http.Response, info *apirequest.RequestInfo) {
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	var said metav1.Status
	if err != nil || json.Unmarshal(text, &said) != nil || said.Kind != "Status" {
		said = *response.Status(int32(resp.StatusCode), metav1.StatusReasonUnknown,
			"the site has refused this, and does not say why")
	}
	if !info.IsResourceRequest {
		w.Header().Set("Warning", "299 - "+strconv.QuoteToASCII(said.Message))
	}
	said.Code = int32(resp.StatusCode)
	response.Write(w, &said)
}

// ask sends a request to the site that the client has named.
func (h *Handler) ask(
	req *http.Request,
	info *apirequest.RequestInfo,
) (*http.Response, *exchange.Request, error) {
	ctx := req.Context()
	names, rest := split(req.URL.Path)
	if len(names) == 0 {
		return nil, nil, refuse(
			http.StatusNotFound,
			"NotFound",
			"name a target: targets/NAME, or targets/RELAY/NAME",
		)
	}
	audit.AddAuditAnnotations(ctx, auditlog.Site, names[0])
	r, err := requestOf(req, info, names, rest)
	if err != nil {
		return nil, nil, err
	}
	r.Space = request.Space(ctx)
	if u, ok := apirequest.UserFrom(ctx); ok {
		r.Identify(u.GetName(), u.GetGroups())
	}
	if end, ok := ctx.Deadline(); ok && !r.Watches() {
		r.Timeout = max(time.Millisecond, time.Until(end))
	}
	if err := errors.Join(r.Check(), exchange.CheckTarget(names[0])); err != nil {
		return nil, nil, err
	}
	resp, err := h.Sites.Do(ctx, names[0], r)
	if err != nil {
		return nil, nil, err
	}
	audit.AddAuditAnnotation(ctx, auditlog.Path, resp.Header.Get(exchange.HeaderSite))
	return resp, r, nil
}

// chunk is how much is passed on at a time.
const chunk = 32 << 10

// pass passes a body on. A body that breaks off ends the connection, so that nobody takes it for
// whole.
func pass(w http.ResponseWriter, from io.Reader) {
	buffer := make([]byte, chunk)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return // the client has gone
			}
		}
		if err == io.EOF {
			return
		}
		if err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// passEvents passes a watch on, each event when it comes. When it breaks off, and nobody has ended
// it, the last event is an error that says so.
func passEvents(ctx context.Context, w http.ResponseWriter, from io.Reader, site string) {
	to := http.NewResponseController(w)
	_ = to.Flush() // a client waits for the head; without a flush it comes with the first event
	buffer := make([]byte, chunk)
	whole := true // what was written ends with an event
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return // the client has gone
			}
			_ = to.Flush()
			whole = buffer[n-1] == '\n'
		}
		if err == io.EOF || err != nil && ctx.Err() != nil {
			return
		}
		if err != nil {
			if !whole {
				response.Break(w) // the client cannot decode what it has got
				return
			}
			_ = json.NewEncoder(w).Encode(brokenOff(site, err))
			return
		}
	}
}

// brokenOff is the event that a client of a watch is told its end by: it lists anew.
func brokenOff(site string, err error) any {
	return struct {
		Type   string         `json:"type"`
		Object *metav1.Status `json:"object"`
	}{"ERROR", response.Status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable,
		"the watch breaks off here: site "+site+", or the way to it, has failed: "+err.Error())}
}

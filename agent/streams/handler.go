package streams

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
)

// Pods knows the Pods of the target. agent/observe's Observer is one.
type Pods interface {
	// Placed reports whether the target has the object k with this UID, and it is a Pod that was
	// placed there from the space of k, or belongs to an object that was.
	Placed(k store.Key, uid string) bool
	// Delivered returns the UID at the target of a Pod or a Service that was itself placed and whose
	// source has the UID origin, and "" where there is none.
	Delivered(k store.Key, origin string) string
}

// Backend answers a request that was checked. Its UID is that of the Pod at the target.
type Backend interface {
	Answer(ctx context.Context, r *exchange.Request) (*http.Response, error)
}

// Config is what a Handler works with. Pods, Backend, View and Log are required.
type Config struct {
	Pods    Pods
	Backend Backend
	// View answers what is of no Pod: views of a space's namespaces.
	View Backend
	// Allow refuses what the site does not allow of a space; nil allows everything, as a relay
	// does, whose sites decide themselves.
	Allow func(r *exchange.Request) error
	// Audit is told of each stream when it begins; nil tells nobody.
	Audit func(target.Written)
	Log   *slog.Logger
}

// Handler serves streams. It implements tunnel.StreamHandler.
type Handler struct {
	Config
	open   atomic.Int64
	shares exchange.Shares
}

// mostStreams is how many streams are open side by side: what users, webhooks and Services have, and room for those
// that are about to end.
const mostStreams = exchange.MostOfUsers + exchange.MostOfWebhooks + exchange.MostOfServices + 64

var _ tunnel.StreamHandler = (*Handler)(nil)

// New returns a Handler.
func New(c Config) *Handler { return &Handler{Config: c} }

// ServeStream implements tunnel.StreamHandler.
func (h *Handler) ServeStream(ctx context.Context, stream tunnel.Stream) {
	defer h.open.Add(-1)
	if h.open.Add(1) > mostStreams {
		stream.Cancel()
		h.Log.Warn("a stream to a pod is refused: too many are open", "open", mostStreams)
		return
	}
	began := time.Now()
	var asked *exchange.Request
	code, done := 0, func() {}
	defer func() { done() }()
	err := exchange.Serve(
		ctx,
		stream,
		func(ctx context.Context, r *exchange.Request) (*http.Response, error) {
			asked = r
			var resp *http.Response
			taken, err := h.shares.Take("", r)
			if err == nil {
				done = taken
				resp, err = h.answer(ctx, r)
			}
			if code = http.StatusBadGateway; err == nil {
				code = resp.StatusCode
			} else {
				code = exchange.FaultOf(err).Code
			}
			h.audit(r, began, code, err)
			return resp, err
		},
	)
	if asked == nil {
		h.Log.Warn("the parent sent no request for a pod", "err", err)
		return
	}
	level := slog.LevelInfo
	if asked.Resource == exchange.Services {
		level = slog.LevelDebug
	}
	h.Log.Log(ctx, level, "stream ended",
		"verb", asked.Verb, "space", asked.Space, "path", path(asked), "user", asked.User,
		"code", code, "duration", time.Since(began).Round(time.Millisecond))
}

func (h *Handler) answer(ctx context.Context, r *exchange.Request) (*http.Response, error) {
	if h.Allow != nil {
		if err := h.Allow(r); err != nil {
			return nil, &exchange.Fault{
				Code:    http.StatusForbidden,
				Reason:  "Forbidden",
				Message: err.Error(),
			}
		}
	}
	if r.Verb == exchange.View {
		return h.View.Answer(ctx, r)
	}
	k := store.Key{Space: r.Space, Namespace: r.Namespace, Name: r.Pod}
	k.Group, k.Resource = r.Kind()
	at := *r
	if r.Origin != "" {
		if at.UID, at.Origin = h.Pods.Delivered(k, r.Origin), ""; at.UID == "" {
			return nil, missing(r)
		}
	}
	// With a path it is for the targets below, which know it; a Backend without such refuses it.
	if r.Resource != exchange.Services && len(r.Path) == 0 && !h.Pods.Placed(k, at.UID) {
		return nil, missing(r)
	}
	return h.Backend.Answer(ctx, &at)
}

// missing says that there is no such Pod of the space, whatever else may have that name.
func missing(r *exchange.Request) error {
	what := "pod"
	if r.Resource != "" {
		what = r.Resource
	}
	return &exchange.Fault{Code: http.StatusNotFound, Reason: "NotFound", Message: fmt.Sprintf(
		"the site has no %s %s/%s of space %s any more, or not yet; it has ended, or another one has its name",
		what,
		r.Namespace,
		r.Pod,
		r.Space,
	)}
}

// path is what is asked for, in the form of a path of Kubernetes.
func path(r *exchange.Request) string {
	if r.Verb != exchange.View {
		return resourceOf(r).Path(r.Namespace, r.Pod)
	}
	q := r.Query
	if q.Has(exchange.OptionDocument) {
		return "/" + q.Get(exchange.OptionDocument)
	}
	of := target.Resource{
		Group:   q.Get(exchange.OptionGroup),
		Version: q.Get(exchange.OptionVersion),
		Plural:  q.Get(exchange.OptionResource),
	}
	return of.Path(r.Namespace, q.Get(exchange.OptionName))
}

// audit tells that a stream begins, or why it does not.
func (h *Handler) audit(r *exchange.Request, at time.Time, code int, err error) {
	if h.Audit == nil {
		return
	}
	if r.Query.Has(exchange.OptionDocument) || r.Resource == exchange.Services && err == nil {
		return // it has no objects, or is one of the many connections that an application makes
	}
	w := target.Written{
		At:        at,
		Verb:      string(r.Verb),
		Path:      path(r),
		Space:     r.Space,
		Code:      code,
		User:      r.User,
		Container: r.Query.Get("container"),
		Command:   r.Query.Get("command"),
	}
	var f *exchange.Fault
	if errors.As(err, &f) {
		w.Reason = f.Reason
	}
	h.Audit(w)
}

package target

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Written is one write to the target and how it ended, or a stream to a Pod and how it began. It
// has nothing of what was written.
type Written struct {
	At   time.Time
	Verb string // apply, patch, create or delete; of a stream the Pod's subresource
	// Path is that of the request, escaped: of the object, or of where it was created.
	Path string
	// Space is whose object it is, empty where that is not known.
	Space string
	// Code is the target's answer, 0 when there was none. Reason is why it is no success.
	Code   int
	Reason string
	// User, Container and Command are of a stream: who asked for it at the parent, and the first
	// word of what was to run.
	User, Container, Command string
}

type spaceKey struct{}

// InSpace records in ctx for which space an object is written.
func InSpace(ctx context.Context, space string) context.Context {
	return context.WithValue(ctx, spaceKey{}, space)
}

// tell reports a request that was a write.
func (c *Client) tell(ctx context.Context, method, path string, query url.Values, kind string, code int, err error) {
	if c.written == nil || method == http.MethodGet || query.Has("dryRun") {
		return
	}
	w := Written{At: time.Now(), Verb: verbOf(method, kind), Path: path, Code: code}
	w.Space, _ = ctx.Value(spaceKey{}).(string)
	var status *apierrors.StatusError
	switch {
	case err == nil:
	case errors.As(err, &status):
		w.Reason = string(status.ErrStatus.Reason)
	case errors.Is(err, ErrNotServed):
		w.Reason = "NotServed"
	case code == 0:
		w.Reason = "Unreachable"
	default:
		w.Reason = "NoAnswer"
	}
	c.written(w)
}

func verbOf(method, kind string) string {
	switch {
	case kind == applyType:
		return "apply"
	case method == http.MethodPatch:
		return "patch"
	case method == http.MethodDelete:
		return "delete"
	default:
		return "create"
	}
}

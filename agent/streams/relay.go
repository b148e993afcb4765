package streams

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/exchange"
)

// Children are the targets of a relay.
type Children interface {
	exchange.Sites
	// Call connects to a Service at one of them that has a ready Pod of it. Origin is the UID of the
	// Service at the relay. The parent is asked for nothing.
	Call(ctx context.Context, r *exchange.Request) (*http.Response, error)
	// Trace has the target that r.Path names, or one below it, call a Service. Origin is as in Call.
	Trace(ctx context.Context, r *exchange.Request) (*http.Response, error)
}

// Relay is the Backend of a relay: the Pod in its own space says which of its children has it, or the
// request names the targets below it. Of a Service all may have Pods.
type Relay struct {
	Client   func(space string) (*target.Client, error)
	Children Children
	// Owns reports whether an object of the relay's space with this UID was placed there by its parent.
	Owns func(uid string) bool
}

// Answer implements Backend.
func (s *Relay) Answer(ctx context.Context, r *exchange.Request) (*http.Response, error) {
	c, err := s.Client(r.Space)
	if err != nil {
		return nil, unreachable(err)
	}
	if err := ofSpace(ctx, c, r, r.Namespace); err != nil {
		return nil, err
	}
	if r.Resource == exchange.Services {
		next := *r
		next.UID, next.Origin = "", r.UID
		if r.Verb == exchange.Call {
			return s.Children.Trace(ctx, &next)
		}
		return s.Children.Call(ctx, &next)
	}
	if len(r.Path) > 0 {
		return s.below(ctx, c, r)
	}
	live, err := c.Get(context.WithoutCancel(ctx), resourceOf(r), r.Namespace, r.Pod, false)
	switch {
	case apierrors.IsNotFound(err), err == nil && live.Metadata.UID != r.UID:
		return nil, missing(r)
	case err != nil:
		return nil, unreachable(err)
	}
	place, err := exchange.PlaceOf(r.Pod, live.Metadata.UID, live.Metadata.Annotations)
	if err != nil {
		return nil, err
	}
	return s.Children.Do(ctx, place.Target, r.At(place))
}

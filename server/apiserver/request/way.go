package request

import (
	"context"
	"sync"
)

// Way is where a request in a live view goes: the names of targets, each below the one before.
type Way struct {
	Targets []string
	// Once guards what the site has answered about the object of the request: Object or Err. A
	// request asks once, however many of its steps look at the object.
	Once   sync.Once
	Object any
	Err    error
}

type wayKey struct{}

// WithWay returns a context for a request that is about an object as a site has it.
func WithWay(ctx context.Context, w *Way) context.Context { return context.WithValue(ctx, wayKey{}, w) }

// WayOf returns the way of a request, nil where it is about what the space has.
func WayOf(ctx context.Context) *Way {
	w, _ := ctx.Value(wayKey{}).(*Way)
	return w
}

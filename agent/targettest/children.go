package targettest

import (
	"context"
	"net/http"
	"sync"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/pipe"
)

// Children are the targets below a relay. They implement tunnel.StreamOpener.
type Children struct {
	// Answer answers what is asked of any of them.
	Answer func(ctx context.Context, r *exchange.Request) (*http.Response, error)

	mu     sync.Mutex
	opened []string
	last   *exchange.Request
}

// OpenStream opens a stream whose other end answers one request.
func (c *Children) OpenStream(ctx context.Context, name string) (tunnel.Stream, error) {
	c.mu.Lock()
	c.opened = append(c.opened, name)
	c.mu.Unlock()
	down, up := pipe.New(pipe.Options{})
	context.AfterFunc(ctx, func() { up.Close(nil) })
	stream, err := up.OpenStream(ctx)
	go func() {
		defer down.Close(nil)
		s, err := down.AcceptStream(context.WithoutCancel(ctx))
		if err != nil {
			return
		}
		_ = exchange.Serve(ctx, s, func(ctx context.Context, r *exchange.Request) (*http.Response, error) {
			c.mu.Lock()
			c.last = r
			c.mu.Unlock()
			return c.Answer(ctx, r)
		})
	}()
	return stream, err
}

// Do asks one of them, as a relay does.
func (c *Children) Do(ctx context.Context, name string, r *exchange.Request) (*http.Response, error) {
	return exchange.Via(ctx, c, name, r)
}

// AnyChild is the target that answers for a Service.
const AnyChild = "any"

// Call asks AnyChild, as a relay asks those that have a Service.
func (c *Children) Call(ctx context.Context, r *exchange.Request) (*http.Response, error) {
	return c.Do(ctx, AnyChild, r)
}

// Trace asks the target that the request names, or AnyChild.
func (c *Children) Trace(ctx context.Context, r *exchange.Request) (*http.Response, error) {
	if len(r.Path) == 0 {
		return c.Do(ctx, AnyChild, r)
	}
	next := *r
	next.Path = r.Path[1:]
	return c.Do(ctx, r.Path[0], &next)
}

// Opened returns the names of the targets to which streams were opened, in order.
func (c *Children) Opened() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.opened...)
}

// Last returns the last request that a target got, nil for none.
func (c *Children) Last() *exchange.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

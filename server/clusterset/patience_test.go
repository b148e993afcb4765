package clusterset

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// slowly is the API of spaces, of which one answers as slowly as it may.
type slowly struct {
	API
	space string
	takes time.Duration
}

func (s slowly) Live(ctx context.Context, k store.Key, apiVersion string) (map[string]any, error) {
	if k.Space == s.space && k.Group == v1alpha1.FleetGroup { // a webhook of its own converts
		select {
		case <-time.After(s.takes):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.API.Live(ctx, k, apiVersion)
}

// A space that answers slowly, with many exports, does not keep what the spaces of other sets export from being
// imported.
func TestASlowSpaceKeepsNoOtherWaiting(t *testing.T) {
	for _, takes := range []time.Duration{time.Second, 4900 * time.Millisecond, time.Hour} {
		t.Run(takes.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newWorld(t)
				c.c.queue.ShutDown()
				c.c = New(Config{API: slowly{c.Center, "much", takes}, Log: slog.New(slog.DiscardHandler)})
				for space, set := range map[string]string{"shop": "prod", "desk": "prod", "much": "own"} {
					c.space(space, set)
					c.namespace(space)
				}
				for _, kind := range []string{"serviceexports", "serviceimports"} {
					c.Put(definition("much", kind), map[string]any{"metadata": map[string]any{},
						"spec": map[string]any{"conversion": map[string]any{"strategy": "Webhook"}}})
				}
				c.run()
				for i := range 400 {
					c.Put(exportKey("much", fmt.Sprint("s", i)), map[string]any{"metadata": map[string]any{
						"creationTimestamp": "2026-01-01T00:00:00Z"}})
				}
				c.service("shop", "{port: 80}")
				c.export("shop", "2026-01-01T00:00:00Z")
				time.Sleep(time.Minute)
				synctest.Wait()
				c.expect("imports", c.imports(), map[string]string{"shop": "[80] [80]", "desk": "[80] [80]"})
				for _, kind := range []string{"serviceexports", "serviceimports"} {
					c.Put(definition("much", kind), nil)
				}
				settle()
				c.expect("remembered of it", len(c.c.slow.converts)+len(c.c.slow.rests), 0)
				c.c.slow.take(definition("gone", "serviceexports"), map[string]any{
					"spec": map[string]any{"conversion": map[string]any{"strategy": "Webhook"}}})
				c.c.Reset(c.Revision, c.Listing()) // it has gone meanwhile
				c.expect("remembered of what has gone", len(c.c.slow.converts), 0)
			})
		})
	}
}

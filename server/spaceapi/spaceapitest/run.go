package spaceapitest

import (
	"context"
	"sync"
	"testing"
)

// Run starts a controller. It ends with the test, or with the first call of stop; the test fails
// when it returns an error.
func Run(t testing.TB, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

package kine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/client/v3/kubernetes"

	"skerry.dev/skerry/store/storetest"
)

// Who gives up a request does no harm to the requests of others.
func TestACanceledRequestHarmsNoOtherOnPostgres(t *testing.T) {
	s := openShared(t, storetest.StartPostgres(t))
	defer s.Close()
	create(t, s, "/registry/a", "x")
	end := time.Now().Add(orderTime(t))
	var all sync.WaitGroup
	orderLoad(t)
	for range 16 {
		all.Go(func() {
			for time.Now().Before(end) {
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(20*time.Millisecond))
				_, _ = s.Client().List(ctx, "/registry/", kubernetes.ListOptions{})
				cancel()
			}
		})
	}
	for w := range 8 {
		all.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				key := fmt.Sprintf("/registry/t/%d-%d", w, n)
				done, err := s.Client().OptimisticPut(t.Context(), key, []byte("x"), 0,
					kubernetes.PutOptions{GetOnFailure: true})
				if err != nil || !done.Succeeded {
					t.Errorf("write %s: %v", key, err)
				}
			}
		})
	}
	all.Wait()
}

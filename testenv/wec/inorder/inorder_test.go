package inorder

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/k3s-io/kine/pkg/drivers"
	_ "github.com/k3s-io/kine/pkg/drivers/memory"
	_ "github.com/k3s-io/kine/pkg/drivers/sqlite"
	"github.com/k3s-io/kine/pkg/server"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
)

// bare has the tests run on kine as it is, and fail: a newer kine that passes
// needs this package no more.
var bare = os.Getenv("SKERRY_KINE_BARE") != ""

// dial makes a client, with streams of its own.
type dial func() *kubernetes.Client

// each runs a test on the backends that clusters have.
func each(t *testing.T, test func(*testing.T, *kubernetes.Client, dial)) {
	for name, endpoint := range map[string]string{
		"memory": "memory://",
		"sqlite": "sqlite://" + filepath.Join(t.TempDir(), "store.db") +
			"?_journal=WAL&_busy_timeout=30000&_txlock=immediate",
	} {
		t.Run(name, func(t *testing.T) {
			dial := serve(t, endpoint)
			test(t, dial(), dial)
		})
	}
}

// serve runs kine's etcd API on a backend.
func serve(t *testing.T, endpoint string) dial {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	_, backend, err := drivers.New(ctx, &running, &drivers.Config{
		Endpoint: endpoint, CompactInterval: time.Hour,
		CompactMinRetain: 1000, CompactBatchSize: 1000, PollBatchSize: 500})
	if err != nil {
		t.Fatal(err)
	}
	if !bare {
		backend = New(backend)
	}
	if err := backend.Start(ctx); err != nil {
		t.Fatal(err)
	}
	l, s := bufconn.Listen(1<<20), grpc.NewServer()
	server.New(backend, "http", 100*time.Millisecond, "3.5.13").Register(s)
	go s.Serve(l)
	t.Cleanup(func() { s.Stop(); cancel(); running.Wait() })
	return func() *kubernetes.Client {
		c, err := kubernetes.New(clientv3.Config{
			Endpoints: []string{"http://store.invalid:2379"}, Logger: zap.NewNop(),
			DialOptions: []grpc.DialOption{
				grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }),
				grpc.WithTransportCredentials(insecure.NewCredentials())}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
}

func put(t *testing.T, c *kubernetes.Client, key string, old int64) int64 {
	t.Helper()
	options := kubernetes.PutOptions{GetOnFailure: true}
	done, err := c.OptimisticPut(t.Context(), key, []byte("x"), old, options)
	if err != nil || !done.Succeeded {
		t.Fatalf("write %s: %v", key, err)
	}
	return done.Revision
}

// An API server compacts every five minutes.
func TestCompactionsDoNotRepeatEvents(t *testing.T) {
	each(t, func(t *testing.T, c *kubernetes.Client, _ dial) {
		last := put(t, c, "/registry/pods/a", 0)
		watch := c.Watch(t.Context(), "/registry/", clientv3.WithPrefix(), clientv3.WithRev(last))
		next := last
		see := func() {
			for seen := int64(0); seen < last; {
				select {
				case told := <-watch:
					if told.Err() != nil {
						t.Fatal(told.Err())
					}
					for _, e := range told.Events {
						if seen = e.Kv.ModRevision; seen != next {
							t.Fatalf("event %d comes when %d is next", seen, next)
						}
						next++
					}
				case <-time.After(20 * time.Second):
					t.Fatalf("event %d does not come", next)
				}
			}
		}
		for range 4 {
			for range 10 {
				last = put(t, c, "/registry/pods/a", last)
			}
			see()
			if _, err := c.Compact(t.Context(), last-5); err != nil {
				t.Fatal(err)
			}
		}
		last = put(t, c, "/registry/pods/a", last)
		see()
	})
}

// Who was told that he has all events up to a revision is not sent one of them
// afterwards, and who writes is told in time of a progress up to there.
func TestProgressIsTrue(t *testing.T) {
	each(t, func(t *testing.T, c *kubernetes.Client, dial dial) {
		ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(t.Context()))
		defer cancel()
		var writers, readers sync.WaitGroup
		var told atomic.Int64
		for r := range 8 {
			c := dial() // an API server has one for each resource
			watch := c.Watch(ctx, "/registry/", clientv3.WithPrefix(), clientv3.WithProgressNotify())
			readers.Go(func() {
				for ctx.Err() == nil {
					_ = c.RequestProgress(ctx)
					time.Sleep(5 * time.Millisecond)
				}
			})
			readers.Go(func() {
				claimed := int64(0)
				for resp := range watch {
					for _, e := range resp.Events {
						if e.Kv.ModRevision <= claimed {
							t.Errorf("reader %d: event %d comes after progress %d", r, e.Kv.ModRevision, claimed)
							claimed = 0
						}
					}
					if resp.IsProgressNotify() {
						claimed = max(claimed, resp.Header.Revision)
						told.Add(1)
					}
				}
			})
		}
		end := time.Now().Add(2 * time.Second)
		for w := range 16 {
			writers.Go(func() {
				for last, key := int64(0), fmt.Sprintf("/registry/pods/%d", w); time.Now().Before(end); {
					last = put(t, c, key, last)
					time.Sleep(rand.N(3 * time.Millisecond))
				}
			})
		}
		writers.Wait()
		for newest := time.Now().Add(20 * time.Second); told.Load() == 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(newest) {
				t.Fatal("nobody was told of progress")
			}
		}
		cancel()
		readers.Wait()
		t.Logf("progress was told %d times", told.Load())
	})
}

// What an empty list does not have, a watch from its revision tells.
func TestNothingFallsBetweenAnEmptyListAndItsWatch(t *testing.T) {
	each(t, func(t *testing.T, c *kubernetes.Client, _ dial) {
		for end, n := time.Now().Add(3*time.Second), 0; time.Now().Before(end); n++ {
			prefix := fmt.Sprintf("/registry/kind%d/", n)
			written := make(chan int64)
			for w := range 4 {
				go func() { written <- put(t, c, fmt.Sprintf("%s%d", prefix, w), 0) }()
			}
			time.Sleep(rand.N(time.Millisecond))
			list, err := c.List(t.Context(), prefix, kubernetes.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			missing := 4 - len(list.Kvs)
			for range 4 {
				if <-written > list.Revision {
					missing--
				}
			}
			if missing != 0 {
				t.Fatalf("a list of %d objects at %d lacks %d that were there", len(list.Kvs), list.Revision, missing)
			}
		}
	})
}

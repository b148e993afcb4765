package delta_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compress"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/pipe"
)

func TestMain(m *testing.M) {
	compress.Default() // outside of every bubble
	compress.Thorough().Encode(nil, []byte("{}"))
	leak.Main(m)
}

// source is a feed with bodies.
type source struct {
	*store.Feed
	mu       sync.Mutex
	bodies   map[store.Key][]byte
	revision int64
}

func newSource(incarnation store.Incarnation, floor int64) *source {
	s := &source{bodies: map[store.Key][]byte{}, revision: floor}
	s.Feed = store.NewFeed(incarnation, floor, func(_ context.Context, k store.Key) ([]byte, int64, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		b, ok := s.bodies[k]
		if !ok {
			return nil, 0, store.ErrGone
		}
		return b, 1, nil
	})
	return s
}

// set changes keys in one revision; an empty body deletes.
func (s *source) set(bodies map[store.Key]string) {
	s.mu.Lock()
	var changes []store.Change
	for k, b := range bodies {
		c := store.Change{Key: k, Generation: 1}
		if b == "" {
			delete(s.bodies, k)
		} else {
			s.bodies[k] = []byte(b)
			c.Hash = store.HashBody(1, []byte(b))
		}
		changes = append(changes, c)
	}
	s.revision++
	s.mu.Unlock()
	s.Apply(s.revision, changes...)
}

func (s *source) live() map[store.Key]store.Hash {
	out := map[store.Key]store.Hash{}
	for _, e := range s.All() {
		out[e.Key] = e.Hash
	}
	return out
}

func key(i int) store.Key {
	return store.Key{
		Space:     "shop",
		Group:     "apps",
		Resource:  "deployments",
		Namespace: "web",
		Name:      fmt.Sprintf("web-%d", i),
	}
}

func body(i, version int) string {
	return fmt.Sprintf(
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web-%d"},`+
			`"spec":{"replicas":%d,"template":{"spec":{"containers":[{"image":"nginx:1.27"}]}}}}`,
		i,
		version,
	)
}

// session is one Send and one Receive over a pipe.
type session struct {
	child, parent *pipe.Conn
	sent, got     chan error
	stop          context.CancelFunc
}

func connect(t *testing.T, feed *store.Feed, sink store.Sink, send delta.SendOptions, o pipe.Options) *session {
	t.Helper()
	return connectAs(t, feed, sink, send, delta.ReceiveOptions{}, o)
}

func connectAs(
	t *testing.T,
	feed *store.Feed,
	sink store.Sink,
	send delta.SendOptions,
	receive delta.ReceiveOptions,
	o pipe.Options,
) *session {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &session{sent: make(chan error, 1), got: make(chan error, 1), stop: cancel}
	s.child, s.parent = pipe.New(o)
	out, err := s.child.OpenStream(ctx)
	if err != nil {
		t.Fatal(err)
	}
	go func() { s.got <- delta.Receive(ctx, out, sink, receive) }()
	go func() {
		in, err := s.parent.AcceptStream(ctx)
		if err != nil {
			s.sent <- err
			return
		}
		s.sent <- delta.Send(ctx, in, feed, send)
	}()
	return s
}

func (s *session) end() (sent, got error) {
	s.stop()
	s.child.Cut()
	return <-s.sent, <-s.got
}

func wantEqual(t *testing.T, src *source, sink *storetest.Memory) {
	t.Helper()
	want, got := src.live(), sink.Live()
	if !maps.Equal(want, got) {
		t.Fatalf("the copy has %d entries, the feed %d, or they differ", len(got), len(want))
	}
	for k := range want {
		e, _, _ := sink.Get(k)
		if string(e.Body) != string(src.bodies[k]) {
			t.Fatalf("%s: body %q, want %q", k, e.Body, src.bodies[k])
		}
	}
	if head := src.Head(); sink.Position() != head {
		t.Fatalf("position %s, head %s", sink.Position(), head)
	}
}

func TestCopyFollowsFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newSource(store.NewIncarnation(), 10), storetest.NewMemory()
		for i := range 2000 {
			src.set(map[store.Key]string{key(i): body(i, 1)})
		}
		s := connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{Latency: time.Millisecond})
		synctest.Wait()
		time.Sleep(time.Second)
		wantEqual(t, src, sink)
		src.set(map[store.Key]string{key(1): body(1, 2), key(2): "", key(5000): body(5000, 1)})
		time.Sleep(time.Second)
		wantEqual(t, src, sink)
		if e, ok, _ := sink.Get(key(2)); !ok || !e.Tombstone {
			t.Error("the deletion did not come as a tombstone")
		}
		s.end()
	})
}

// A change takes half a round trip and no more: nothing is asked first.
func TestChangeTakesHalfARoundTrip(t *testing.T) {
	const latency = 50 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		src, sink := newSource(store.NewIncarnation(), 0), storetest.NewMemory()
		stored := make(chan time.Time, 10)
		sink.OnCommit = func(store.Batch) { stored <- time.Now() }
		acked := make(chan time.Time, 10)
		o := delta.Down(delta.LAN)
		o.OnAck = func(store.Position) { acked <- time.Now() }
		s := connect(t, src.Feed, sink, o, pipe.Options{Latency: latency})
		time.Sleep(time.Minute)
		for len(stored) > 0 {
			<-stored
			<-acked
		}
		for range 3 {
			at := time.Now()
			src.set(map[store.Key]string{key(1): body(1, rand.Int())})
			if took := (<-stored).Sub(at); took != latency {
				t.Errorf("stored after %s, want %s", took, latency)
			}
			if took := (<-acked).Sub(at); took != 2*latency {
				t.Errorf("acknowledged after %s, want %s", took, 2*latency)
			}
		}
		s.end()
	})
}

// A receiver that comes back and has everything already has acknowledged it.
func TestResumeAcknowledges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newSource(store.NewIncarnation(), 0), storetest.NewMemory()
		src.set(map[store.Key]string{key(1): body(1, 1)})
		for range 2 {
			var acked store.Position
			o := delta.Down(delta.LAN)
			o.OnAck = func(p store.Position) { acked = p }
			s := connect(t, src.Feed, sink, o, pipe.Options{})
			time.Sleep(time.Second)
			s.end()
			if acked != src.Head() {
				t.Errorf("acknowledged %s, the head is %s", acked, src.Head())
			}
		}
	})
}

// A connection that is cut anywhere, again and again, leaves the copy equal in the end.
func TestCutAnywhere(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				src, sink := newSource(store.NewIncarnation(), 7), storetest.NewMemory()
				torn := watchDecisions(sink)
				send := delta.Down(delta.LAN)
				if seed%2 == 1 {
					send = delta.Up(delta.LAN)
				}
				for range 20 {
					s := connect(
						t,
						src.Feed,
						sink,
						send,
						pipe.Options{Latency: time.Millisecond, CutAfter: 1 + random.IntN(6000)},
					)
					for range random.IntN(30) {
						change(src, random)
						time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
					}
					s.end()
					change(src, random)
				}
				s := connect(t, src.Feed, sink, send, pipe.Options{Latency: time.Millisecond})
				time.Sleep(time.Minute)
				wantEqual(t, src, sink)
				s.end()
				if *torn != "" {
					t.Error(*torn)
				}
			})
		})
	}
}

// change makes one decision: two keys that always have the same version, and some others.
func change(src *source, random *rand.Rand) {
	version := random.IntN(1 << 30)
	set := map[store.Key]string{key(0): body(0, version), key(1): body(1, version)}
	for range random.IntN(3) {
		i := 2 + random.IntN(40)
		set[key(i)] = body(i, random.IntN(100))
		if random.IntN(3) == 0 {
			set[key(i)] = ""
		}
	}
	src.set(set)
}

// watchDecisions checks after every commit that the two keys of each decision came together.
func watchDecisions(sink *storetest.Memory) *string {
	torn := new(string)
	sink.OnCommit = func(store.Batch) {
		a, _, _ := sink.Get(key(0))
		b, _, _ := sink.Get(key(1))
		if a.Revision != b.Revision {
			*torn = fmt.Sprintf("half a decision: revisions %d and %d", a.Revision, b.Revision)
		}
	}
	return torn
}

// While the receiver's disk hangs, the sender keeps to its limit and only the last value of a key
// crosses afterwards.
func TestSlowReceiverCoalesces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newSource(store.NewIncarnation(), 0), storetest.NewMemory()
		var entries atomic.Int64
		sink.OnCommit = func(b store.Batch) {
			entries.Add(int64(len(b.Entries)))
			time.Sleep(10 * time.Second)
		}
		s := connect(t, src.Feed, sink, delta.Up(delta.LAN), pipe.Options{})
		time.Sleep(time.Second)
		for i := range 1000 {
			src.set(map[store.Key]string{key(1): body(1, i), key(2): body(2, i)})
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(2 * time.Minute)
		wantEqual(t, src, sink)
		if n := entries.Load(); n > 20 {
			t.Errorf("%d entries crossed for 2 keys and 5 s of a slow disk, want few", n)
		}
		s.end()
	})
}

func TestLargeObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newSource(store.NewIncarnation(), 0), storetest.NewMemory()
		set := map[store.Key]string{}
		for i := range 5 {
			noise := make([]byte, store.MaxBodyBytes)
			for j := range noise {
				noise[j] = byte(rand.Uint32())
			}
			set[key(i)] = string(noise)
		}
		src.set(set)
		s := connect(t, src.Feed, sink, delta.Down(delta.LAN), pipe.Options{})
		time.Sleep(time.Minute)
		wantEqual(t, src, sink)
		s.end()
	})
}

var _ delta.Stream = tunnel.Stream(nil)

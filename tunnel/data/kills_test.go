package data_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"

	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
)

// kills is how many streams are opened and killed over each transport. SKERRY_STREAMS=10000 is the
// figure of the design.
func kills(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv("SKERRY_STREAMS"))
	if err != nil {
		return 450
	}
	return n
}

// site answers requests by the name of the container.
func site(ctx context.Context, r *exchange.Request) (*http.Response, error) {
	resp := &http.Response{StatusCode: 200, Header: http.Header{}, ContentLength: -1}
	switch r.Query.Get("container") {
	case "hang": // until whoever asked has gone
		<-ctx.Done()
		return nil, ctx.Err()
	case "flow":
		resp.Body = io.NopCloser(io.LimitReader(zeroes{}, 1<<20))
	case "break":
		broken := io.MultiReader(io.LimitReader(zeroes{}, 1000), brokenReader{})
		resp.Body = io.NopCloser(broken)
	case "talk", "leave":
		near, far := net.Pipe()
		context.AfterFunc(ctx, func() { far.Close() })
		go func() {
			n := int64(5)
			if r.Query.Get("container") == "talk" {
				n = 1 << 40
			}
			_, _ = io.CopyN(far, far, n)
			far.Close()
		}()
		resp.StatusCode, resp.Body = http.StatusSwitchingProtocols, near
		resp.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}}
	default:
		resp.Body = io.NopCloser(strings.NewReader("a line\n"))
	}
	return resp, nil
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("the target broke off") }

func requestOf(container string) *exchange.Request {
	r := &exchange.Request{Space: "shop", Namespace: "web", Pod: "app-1", UID: "u-1"}
	r.Verb, r.Query = exchange.Log, url.Values{"container": {container}}
	if container == "talk" || container == "leave" {
		r.Verb = exchange.Exec
		r.Upgrade = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}}
	}
	return r
}

// stages are the lives of a stream, each of which ends elsewhere.
var stages = []func(ctx context.Context, s tunnel.Stream) error{
	func(_ context.Context, s tunnel.Stream) error { s.Cancel(); return nil },
	func(_ context.Context, s tunnel.Stream) error {
		_, err := io.WriteString(s, "POST /shop/web/app-1/log HT")
		s.Cancel()
		return err
	},
	func(ctx context.Context, s tunnel.Stream) error { // before the answer
		ctx, cancel := context.WithCancel(ctx)
		go cancel()
		if _, err := exchange.RoundTrip(ctx, s, requestOf("hang")); err == nil {
			return errors.New("an answer")
		}
		return nil
	},
	asked("flow", 0), asked("flow", 100_000), asked("break", 1000), asked("line", 7),
	asked("talk", 5), asked("leave", 5),
}

// asked asks, takes some bytes of the answer and goes.
func asked(container string, take int) func(context.Context, tunnel.Stream) error {
	return func(ctx context.Context, s tunnel.Stream) error {
		resp, err := exchange.RoundTrip(ctx, s, requestOf(container))
		if err != nil {
			return fmt.Errorf("%s: %w", container, err)
		}
		defer resp.Body.Close()
		if conn, ok := resp.Body.(io.Writer); ok && resp.StatusCode == 101 {
			if _, err := io.WriteString(conn, "hello"); err != nil {
				return err
			}
		}
		_, err = io.ReadFull(resp.Body, make([]byte, take))
		return err
	}
}

// base is what a process holds.
type base struct{ goroutines, descriptors, heap, rss int }

func baseNow(t *testing.T) (b base) {
	t.Helper()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.goroutines, b.heap = runtime.NumGoroutine(), int(m.HeapAlloc)
	if entries, err := os.ReadDir("/proc/self/fd"); err == nil {
		b.descriptors = len(entries)
	}
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		var size int
		_, _ = fmt.Sscan(string(text), &size, &b.rss)
		b.rss *= os.Getpagesize()
	}
	return b
}

// TestKilledAtEveryStage: streams that end at any point of an exchange leave nothing at either end.
func TestKilledAtEveryStage(t *testing.T) {
	for _, transport := range []string{"tcp", "quic"} {
		t.Run(transport, func(t *testing.T) {
			w := newWorld(t, transport, handler(func(ctx context.Context, s tunnel.Stream) {
				_ = exchange.Serve(ctx, s, site)
			}))
			kill := func(from, to int) {
				var all sync.WaitGroup
				for worker := range 8 {
					all.Go(func() {
						for i := from + worker; i < to; i += 8 {
							if err := stages[i%len(stages)](w.ctx, w.open(t)); err != nil {
								t.Errorf("stage %d: %v", i%len(stages), err)
							}
						}
					})
				}
				all.Wait()
			}
			n := kills(t)
			kill(0, n/10) // what is made once is made
			before := baseNow(t)
			kill(n/10, n)
			within(t, "the goroutines to end", func() bool {
				return runtime.NumGoroutine() <= before.goroutines
			})
			after := baseNow(t)
			t.Logf("%d streams: %+v before, %+v after", n, before, after)
			if after.descriptors > before.descriptors {
				t.Errorf("%d descriptors, %d before", after.descriptors, before.descriptors)
			}
			if more := after.heap - before.heap; more > 2<<20 && storetest.Figures() {
				t.Errorf("the heap has grown by %d bytes", more)
			}
		})
	}
}

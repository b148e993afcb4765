package share

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"skerry.dev/skerry/server/apiserver/fair"
	"skerry.dev/skerry/server/apiserver/request"
)

// noQuota is the usage of spaces that have none.
type noQuota struct{}

func (noQuota) Admit(string) *metav1.Status { return nil }
func (noQuota) Watches(string) (int, bool)  { return 10, false }

func (noQuota) Listed(string, string, string) (objects, bytes int64) { return 0, 0 }

// pipes is a listener whose connections have no buffers.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	near, far := net.Pipe()
	p.conns <- far
	return near
}

// serve has a limiter before a handler, for requests whose first part of the path is their space.
func serve(t *testing.T, limiter *Limiter, h http.HandlerFunc) *pipes {
	t.Helper()
	limited := limiter.Wrap(h)
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Protocols: protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		space := strings.Split(r.URL.Path, "/")[1]
		ctx := request.WithSpace(r.Context(), space)
		info := &apirequest.RequestInfo{IsResourceRequest: true, Verb: "list", Resource: "widgets"}
		limited.ServeHTTP(w, r.WithContext(apirequest.WithRequestInfo(ctx, info)))
	})}
	p := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	go server.Serve(p)
	t.Cleanup(func() { server.Close() })
	return p
}

// ask makes a request of an honest client, and returns what it had to wait.
func ask(t *testing.T, p *pipes, space, body string) time.Duration {
	t.Helper()
	conn := p.dial()
	defer conn.Close()
	began := time.Now()
	go fmt.Fprintf(conn, "POST /%s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", space, len(body), body)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || string(got) != body {
		t.Fatalf("an honest client got %d %.100q: %v", answer.StatusCode, got, err)
	}
	return time.Since(began)
}

// TestSlowBodiesTakeNoSeat: two spaces, which together may take every seat, send requests whose
// bodies do not come.
func TestSlowBodiesTakeNoSeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var served atomic.Int32
		limiter := New(noQuota{}, fair.New(2, 10), nil)
		p := serve(t, limiter, func(w http.ResponseWriter, r *http.Request) {
			served.Add(1)
			io.Copy(w, r.Body)
		})
		var slow []net.Conn
		for _, space := range []string{"eve", "mallory"} {
			conn := p.dial()
			defer conn.Close()
			fmt.Fprintf(conn, "POST /%s HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx", space)
			slow = append(slow, conn)
		}
		synctest.Wait()
		if waited := ask(t, p, "shop", "hello"); waited > 0 {
			t.Errorf("an honest client waited %v", waited)
		}
		began := time.Now()
		for _, conn := range slow {
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || answer.StatusCode != http.StatusRequestTimeout {
				t.Fatalf("%+v, %v", answer, err)
			}
		}
		if waited := time.Since(began); waited > bodyTime {
			t.Errorf("a slow client was let go after %v", waited)
		}
		synctest.Wait()
		if served.Load() != 1 || len(limiter.bodies.by) > 0 {
			t.Errorf("%d served, %v counted", served.Load(), limiter.bodies.by)
		}
	})
}

// TestBodiesOfASpaceAreBounded: what one space sends takes no memory of others.
func TestBodiesOfASpaceAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := New(noQuota{}, fair.New(2, 10), nil)
		p := serve(t, limiter, func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
		for range bodyBytes / bodyCost {
			conn := p.dial()
			defer conn.Close()
			fmt.Fprint(conn, "POST /eve HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n")
		}
		synctest.Wait()
		conn := p.dial()
		defer conn.Close()
		fmt.Fprint(conn, "POST /eve HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\n")
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || answer.StatusCode != http.StatusTooManyRequests || answer.Header.Get("Retry-After") == "" {
			t.Errorf("one more of the space: %+v, %v", answer, err)
		}
		if waited := ask(t, p, "shop", strings.Repeat("x", 1<<20)); waited > 0 {
			t.Errorf("an honest client waited %v", waited)
		}
		time.Sleep(bodyTime)
		synctest.Wait()
		if len(limiter.bodies.by) > 0 {
			t.Errorf("%v counted", limiter.bodies.by)
		}
	})
}

// TestBodiesThatAreTooLarge: the handler sees that, whatever is read before.
func TestBodiesThatAreTooLarge(t *testing.T) {
	for _, size := range []int{0, 1, 511, 512, 64 << 10, maxBody, maxBody + 1, maxBody + 2} {
		s := New(noQuota{}, nil, nil)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", io.LimitReader(zeros{}, int64(size)))
		if err != nil {
			t.Fatal(err)
		}
		free, refused := s.receive(nil, r, "shop")
		read, held := min(size, maxBody+1), s.bodies.by["shop"]
		if got, err := io.ReadAll(r.Body); refused != nil || err != nil || len(got) != size || held != read ||
			len(r.Body.(*Body).Bytes()) != read {
			t.Errorf("%d: %v, %v, %d bytes, %d counted", size, refused, err, len(got), held)
		}
		if free(); len(s.bodies.by) > 0 {
			t.Errorf("%d: %v", size, s.bodies.by)
		}
	}
}

// TestABodyThatBreaksOff is not taken for a whole one.
func TestABodyThatBreaksOff(t *testing.T) {
	s, broken := New(noQuota{}, nil, nil), errors.New("broken off")
	from := io.MultiReader(strings.NewReader("half"), failing{broken})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", from)
	if err != nil {
		t.Fatal(err)
	}
	free, refused := s.receive(nil, r, "shop")
	defer free()
	if got, err := io.ReadAll(r.Body); refused != nil || !errors.Is(err, broken) || string(got) != "half" {
		t.Errorf("%v, %q, %v", refused, got, err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestReadersWhoTakeNothing: two spaces, which together may take every seat, do not read what they
// have asked for, over either HTTP.
func TestReadersWhoTakeNothing(t *testing.T) {
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprint("HTTP", version), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limiter := New(noQuota{}, fair.New(2, 10), nil)
				ended := make(chan error, 10)
				p := serve(t, limiter, func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPost {
						io.Copy(w, r.Body)
						return
					}
					_, err := io.Copy(w, io.LimitReader(zeros{}, 16<<20))
					ended <- err
				})
				for _, space := range []string{"eve", "mallory"} {
					protocols := &http.Protocols{}
					protocols.SetHTTP1(version == 1)
					protocols.SetUnencryptedHTTP2(version == 2)
					transport := &http.Transport{Protocols: protocols,
						DialContext: func(context.Context, string, string) (net.Conn, error) { return p.dial(), nil }}
					defer transport.CloseIdleConnections()
					answer, err := (&http.Client{Transport: transport}).Get("http://a/" + space)
					if err != nil {
						t.Fatal(err)
					}
					defer answer.Body.Close()
				}
				synctest.Wait()
				if waited := ask(t, p, "shop", "hello"); waited > slowAfter {
					t.Errorf("an honest client waited %v", waited)
				}
				began := time.Now()
				for range 2 {
					if err := <-ended; err == nil {
						t.Error("all was taken")
					}
				}
				if waited := time.Since(began); waited > StuckAfter {
					t.Errorf("a stuck answer ended after %v", waited)
				}
				synctest.Wait()
				if len(limiter.slow.by) > 0 || limiter.slow.all != 0 {
					t.Errorf("%+v", limiter.slow.by)
				}
			})
		})
	}
}

// TestSlowAnswersAreBounded: who is slow to take answers has so many, and more are broken off.
func TestSlowAnswersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := New(noQuota{}, fair.New(2, 10), nil)
		limiter.slow.ofSpace = 1
		ended := make(chan error, 10)
		p := serve(t, limiter, func(w http.ResponseWriter, r *http.Request) {
			_, err := io.Copy(w, io.LimitReader(zeros{}, 1<<20))
			ended <- err
		})
		began := time.Now()
		for range 2 {
			conn := p.dial()
			defer conn.Close()
			go fmt.Fprint(conn, "GET /eve HTTP/1.1\r\nHost: a\r\n\r\n")
		}
		if err := <-ended; err == nil || time.Since(began) > 2*slowAfter {
			t.Errorf("the second one: %v, after %v", err, time.Since(began))
		}
		if err := <-ended; err == nil || time.Since(began) < StuckAfter {
			t.Errorf("the first one: %v, after %v", err, time.Since(began))
		}
	})
}

// TestASlowReaderGetsAll: what is taken slowly comes whole.
func TestASlowReaderGetsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		p := serve(t, New(noQuota{}, fair.New(2, 10), nil), func(w http.ResponseWriter, r *http.Request) {
			io.Copy(w, io.LimitReader(zeros{}, size))
		})
		conn := p.dial()
		defer conn.Close()
		go fmt.Fprint(conn, "GET /shop HTTP/1.1\r\nHost: a\r\n\r\n")
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for b := make([]byte, writeStep); err == nil; time.Sleep(StuckAfter / 2) {
			var n int
			n, err = io.ReadFull(answer.Body, b)
			got += n
		}
		if got != size {
			t.Errorf("%d bytes, %v", got, err)
		}
	})
}

// taker is a client that takes as long for each write as it says.
type taker struct {
	http.ResponseWriter
	takes  time.Duration
	broken func()
}

func (w *taker) Write(p []byte) (int, error) {
	time.Sleep(w.takes)
	return len(p), nil
}

func (w *taker) SetWriteDeadline(time.Time) error {
	w.broken()
	return nil
}

// TestWhenAnAnswerIsSlow: what counts is how long writes waited, all together, and that one waits long.
func TestWhenAnAnswerIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		left, broken := make(chan time.Duration, 10), make(chan time.Duration, 10)
		limiter := New(noQuota{}, nil, nil)
		client := &taker{broken: func() { broken <- time.Since(began) }}
		a := &answer{ResponseWriter: client, limiter: limiter, space: "shop", leave: func() { left <- time.Since(began) }}
		write := func(takes time.Duration) {
			client.takes = takes
			if _, err := a.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Second)
		}
		for range 3 {
			write(400 * time.Millisecond) // the third is slow after 200 ms
		}
		if at := <-left; at != 7*time.Second || limiter.slow.all != 1 {
			t.Errorf("the seat was given back after %v; %d are slow", at, limiter.slow.all)
		}
		for range 3 {
			write(StuckAfter - time.Millisecond)
		}
		if len(broken) > 0 {
			t.Errorf("a client that takes something was broken off after %v", <-broken)
		}
		last := time.Since(began)
		write(2 * StuckAfter)
		if at := <-broken; at != last+StuckAfter {
			t.Errorf("a stuck client was broken off after %v, not %v", at, last+StuckAfter)
		}
		if a.end(); len(left)+len(broken) > 0 || limiter.slow.all != 0 {
			t.Errorf("given back %d times more, broken off %d times more; %d are slow", len(left), len(broken), limiter.slow.all)
		}
	})
}

// TestNobodyLooksAtAnAnswerThatHasEnded: its ResponseWriter is the next one's.
func TestNobodyLooksAtAnAnswerThatHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looked := func() { t.Error("somebody looked") }
		a := &answer{ResponseWriter: &taker{broken: looked}, limiter: New(noQuota{}, nil, nil), leave: looked}
		if _, err := a.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		a.end()
		a.began = time.Now() // as if it were still written to
		time.Sleep(2 * StuckAfter)
	})
}

// TestWritesOfAnAnswerAllocateNothing: the writes of a list are thousands.
func TestWritesOfAnAnswerAllocateNothing(t *testing.T) {
	a := &answer{ResponseWriter: &taker{}, limiter: New(noQuota{}, nil, nil), leave: func() {}}
	defer a.end()
	p := []byte("x")
	if n := testing.AllocsPerRun(100, func() { a.Write(p) }); n > 0 {
		t.Errorf("a write allocates %v times", n)
	}
}

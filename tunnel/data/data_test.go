package data_test

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/data"
	"skerry.dev/skerry/tunnel/mux"
	"skerry.dev/skerry/tunnel/traffic"
)

// everywhere runs a test over each transport.
func everywhere(t *testing.T, test func(t *testing.T, transport string)) {
	for _, transport := range []string{"pipe", "tcp", "quic"} {
		t.Run(transport, func(t *testing.T) { test(t, transport) })
	}
}

func TestStreamsCarry(t *testing.T) {
	everywhere(t, func(t *testing.T, transport string) {
		w := newWorld(t, transport, echo)
		if err := says(w.open(t), strings.Repeat("a longer text", 100_000)); err != nil {
			t.Error(err)
		}
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if err := says(w.open(t), "hello"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := len(w.numbers); n != 1 {
			t.Errorf("the child was asked %d times", n)
		}
		if n := w.meter.Bytes(traffic.Received, traffic.Streams); n < 1_300_000 || n > 1_400_000 {
			t.Errorf("%d bytes of streams were counted", n)
		}
		if all, own := w.meter.Total(traffic.Received), w.meter.Bytes(traffic.Received, traffic.Streams); all < own {
			t.Errorf("%d bytes crossed, %d of them for streams", all, own)
		}
	})
}

// Either side may end its half, and go on reading; what has come whole can be read after the other
// side is gone.
func TestHalfClose(t *testing.T) {
	everywhere(t, func(t *testing.T, transport string) {
		finished := make(chan struct{})
		w := newWorld(t, transport, handler(func(_ context.Context, s tunnel.Stream) {
			defer close(finished)
			s.Write([]byte("answer"))
			s.Close() // and does not read: the stream is cancelled behind it
		}))
		s := w.open(t)
		defer s.Cancel()
		if _, err := s.Write([]byte("question")); err != nil {
			t.Fatal(err)
		}
		<-finished
		within(t, "the cancelled half", func() bool {
			_, err := s.Write([]byte("more"))
			return err != nil
		})
		if got, err := io.ReadAll(s); string(got) != "answer" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// A stream that one side cancels ends at both, in both directions, also for who waits.
func TestCancel(t *testing.T) {
	everywhere(t, func(t *testing.T, transport string) {
		for _, by := range []string{"child", "parent"} {
			served := make(chan tunnel.Stream, 1)
			ended := make(chan error, 2)
			w := newWorld(t, transport, handler(func(_ context.Context, s tunnel.Stream) {
				served <- s
				_, err := io.Copy(io.Discard, s)
				ended <- err
				_, err = s.Write([]byte("x"))
				ended <- err
			}))
			s := w.open(t)
			if _, err := s.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if at := <-served; by == "child" {
				at.Cancel()
			} else {
				s.Cancel()
			}
			for range 2 {
				if err := <-ended; err == nil {
					t.Errorf("%s cancels: the child reads the end, or writes", by)
				}
			}
			if _, err := s.Read(make([]byte, 1)); err == nil || err == io.EOF {
				t.Errorf("%s cancels: the parent reads %v", by, err)
			}
			if _, err := s.Write([]byte("x")); err == nil {
				t.Errorf("%s cancels: the parent writes", by)
			}
		}
	})
}

// Many streams that nobody reads stop no other, and cost no more than their windows.
func TestUnreadStreamsStopNoOther(t *testing.T) {
	everywhere(t, func(t *testing.T, transport string) {
		w := newWorld(t, transport, handler(func(_ context.Context, s tunnel.Stream) {
			var first [1]byte
			if _, err := io.ReadFull(s, first[:]); err != nil {
				return
			}
			if first[0] == 'e' {
				_, _ = io.Copy(s, s)
				s.Close()
				return
			}
			for {
				if _, err := s.Write(make([]byte, 64<<10)); err != nil {
					return
				}
			}
		}))
		const unread = 100
		for range unread {
			s := w.open(t)
			defer s.Cancel()
			s.Write([]byte("f"))
		}
		full := unread * mux.Data.StreamWindow
		within(t, "full windows", func() bool { return w.meter.Bytes(traffic.Sent, traffic.Streams) >= uint64(full) })
		for range 20 {
			s := w.open(t)
			s.Write([]byte("e"))
			if err := says(s, strings.Repeat("x", 300_000)); err != nil {
				t.Error(err)
			}
		}
	})
}

// Streams that come and go leave nothing: no goroutine, no stream, no byte of the budget.
func TestThousandStreamsKilled(t *testing.T) {
	everywhere(t, func(t *testing.T, transport string) {
		w := newWorld(t, transport, echo)
		if err := says(w.open(t), "first"); err != nil {
			t.Fatal(err)
		}
		before := runtime.NumGoroutine()
		for i := range 1000 {
			s := w.open(t)
			switch i % 4 {
			case 0: // before anything is said
			case 1:
				s.Write([]byte("x"))
			case 2:
				s.Write(make([]byte, mux.Data.StreamWindow/2))
			case 3:
				s.Write([]byte("x"))
				s.Read(make([]byte, 1))
			}
			s.Cancel()
		}
		within(t, "the end of all", func() bool {
			return runtime.NumGoroutine() <= before && w.budget.Used() <= 8<<20 && w.first().Streams() == 0
		})
		if err := says(w.open(t), "last"); err != nil {
			t.Error(err)
		}
		if n := len(w.numbers); n != 1 {
			t.Errorf("the connection was made %d times", n)
		}
	})
}

// A connection takes so many streams and says so; one that ends makes room.
func TestTooManyStreams(t *testing.T) {
	w := newWorld(t, "pipe", echo)
	var open []tunnel.Stream
	for range mux.Data.ParentStreams {
		s := w.open(t)
		s.Write([]byte("x"))
		open = append(open, s)
	}
	_, err := w.links.Open(t.Context(), w.who.Target, w)
	if !errors.Is(err, mux.ErrTooManyStreams) || !strings.Contains(err.Error(), "1280") {
		t.Errorf("one more: %v", err)
	}
	open[0].Cancel()
	within(t, "room", func() bool {
		s, err := w.links.Open(t.Context(), w.who.Target, w)
		if err == nil {
			open = append(open, s)
		}
		return err == nil
	})
	for _, s := range open {
		s.Cancel()
	}
}

// A child whose memory is used up gives streams up instead of taking more.
func TestBudgetOfTheChild(t *testing.T) {
	w := newWorld(t, "pipe", echo)
	w.budget = mux.NewBudget(10 * mux.Data.StreamWindow)
	var refused int
	var open []tunnel.Stream
	for range 20 {
		s := w.open(t)
		open = append(open, s)
		s.Write([]byte("x"))
	}
	for _, s := range open {
		if _, err := s.Read(make([]byte, 1)); err != nil {
			refused++
		}
	}
	if refused != 10 {
		t.Errorf("%d of 20 streams were refused with memory for 10", refused)
	}
	for _, s := range open {
		s.Cancel()
	}
	within(t, "the budget", func() bool { return w.budget.Used() == 0 })
	if err := says(w.open(t), "again"); err != nil {
		t.Error(err)
	}
}

// What a child opens is cancelled where nobody serves it.
func TestUpwardStreamsNeedAHandler(t *testing.T) {
	everywhere(t, func(t *testing.T, transport string) {
		w := newWorld(t, transport, echo)
		if err := says(w.open(t), "first"); err != nil {
			t.Fatal(err)
		}
		s, err := w.first().OpenStream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.Write([]byte("x"))
		s.SetDeadline(time.Now().Add(patience))
		if n, err := s.Read(make([]byte, 1)); err == nil || err == io.EOF || n > 0 ||
			errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read %d bytes, %v", n, err)
		}
	})
}

// upward serves streams of a child.
func TestUpwardStreams(t *testing.T) {
	w := newWorld(t, "pipe", echo)
	w.links.Close()
	w.links = data.NewLinks(data.LinksConfig{Serve: func(who tunnel.Identity) tunnel.StreamHandler {
		return handler(func(_ context.Context, s tunnel.Stream) {
			s.Write([]byte(who.Target))
			s.Close()
		})
	}})
	if err := says(w.open(t), "first"); err != nil {
		t.Fatal(err)
	}
	s, err := w.first().OpenStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Write([]byte("x"))
	if got, err := io.ReadAll(s); string(got) != w.who.Target || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

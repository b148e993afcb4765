package data_test

import (
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/data"
	"skerry.dev/skerry/tunnel/mux"
	"skerry.dev/skerry/tunnel/pipe"
)

// A connection that nothing uses is closed after a minute, and one that is used stands.
func TestUnusedConnectionIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "pipe", echo)
		s := w.open(t)
		s.Write([]byte("x"))
		if _, err := io.ReadFull(s, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		before := w.meter.Total(0) + w.meter.Total(1)
		time.Sleep(3 * time.Hour)
		if err := w.first().Err(); err != nil {
			t.Fatalf("a silent stream: %v", err)
		}
		if n := w.meter.Total(0) + w.meter.Total(1) - before; n > 3*3600/3*4*2 {
			t.Errorf("%d bytes crossed in 3 hours", n)
		}
		s.Cancel()
		time.Sleep(59 * time.Second)
		if err := w.first().Err(); err != nil {
			t.Errorf("after 59 s: %v", err)
		}
		if err := says(w.open(t), "again"); err != nil {
			t.Error(err)
		}
		time.Sleep(59 * time.Second)
		if err := w.first().Err(); err != nil {
			t.Errorf("after 59 s more: %v", err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if ends := w.ended(); len(ends) != 1 || !errors.Is(ends[0], tunnel.ErrUnused) || len(w.links.All()) != 0 {
			t.Errorf("ended with %v", ends)
		}
		if err := says(w.open(t), "and again"); err != nil {
			t.Error(err)
		}
	})
}

// An answer that is expected takes one round trip, also where it is longer than a stream's first window.
func TestAnExpectedAnswer(t *testing.T) {
	const rtt, answer = 100 * time.Millisecond, 60 << 10 // a pipe holds 64 KiB
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "pipe", log(answer))
		w.overPipe(pipe.Options{Latency: rtt / 2})
		w.read(t, answer) // brings the connection up
		if took := w.read(t, answer); took < 2*rtt {
			t.Errorf("unexpected, it took %s: the link is not as long as this test means", took)
		}
		s := w.open(t)
		defer s.Cancel()
		began := time.Now()
		tunnel.Expect(s, tunnel.Answered)
		s.Write([]byte("x"))
		if n, err := io.Copy(io.Discard, s); err != nil || n != answer || time.Since(began) > rtt+rtt/10 {
			t.Errorf("%d bytes in %s, %v", n, time.Since(began), err)
		}
	})
}

// A child that does not come is told about in time, and one that comes and says nothing is let go.
func TestAChildThatDoesNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "pipe", echo)
		var bare data.Bare
		w.ask = func(tunnel.Number) { bare, _ = w.dial(w.ctx) }
		began := time.Now()
		if _, err := w.links.Open(t.Context(), w.who.Target, w); !errors.Is(err, data.ErrLate) ||
			time.Since(began) != 12*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		synctest.Wait()
		select {
		case <-bare.(pipeBare).Done():
		default:
			t.Error("a connection that says nothing stands")
		}
	})
}

// muted is a carrier whose bytes are lost when it is said.
type muted struct {
	mux.Carrier
	mute *atomic.Bool
}

func (m muted) Write(b []byte) (int, error) {
	if m.mute.Load() {
		return len(b), nil
	}
	return m.Carrier.Write(b)
}

// When the other side is gone without a word, every stream of this side ends within ten seconds,
// also one that only writes.
func TestDeadPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mute atomic.Bool
		child, parent := pipe.New(pipe.Options{Latency: 50 * time.Millisecond})
		carry := func(c *pipe.Conn, s tunnel.Stream, err error) mux.Carrier {
			if err != nil {
				t.Fatal(err)
			}
			carrier, err := mux.OverStream(c, s)
			if err != nil {
				t.Fatal(err)
			}
			return muted{carrier, &mute}
		}
		s, err := child.OpenStream(t.Context())
		up := carry(child, s, err)
		s.Write(nil)
		s, err = parent.AcceptStream(t.Context())
		down := carry(parent, s, err)
		at := mux.New(up, mux.Options{Profile: mux.Data, Child: true})
		from := mux.New(down, mux.Options{Profile: mux.Data})
		var streams []tunnel.Stream
		for range 3 {
			s, err := from.OpenStream(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s.Write([]byte("x"))
			other, err := at.AcceptStream(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			streams = append(streams, s, other)
		}
		go func() { // one way alone does not keep the other side's hearing
			for {
				if _, err := streams[0].Write([]byte("more")); err != nil {
					return
				}
				time.Sleep(time.Second)
			}
		}()
		go io.Copy(io.Discard, streams[1])
		time.Sleep(time.Hour)
		if at.Err() != nil || from.Err() != nil {
			t.Fatalf("ended while both are there: %v, %v", at.Err(), from.Err())
		}
		mute.Store(true)
		time.Sleep(10*time.Second + 100*time.Millisecond)
		synctest.Wait()
		for i, s := range streams {
			if i == 1 { // it is read already
				continue
			}
			s.SetDeadline(time.Now().Add(time.Second))
			if _, err := io.Copy(io.Discard, s); err == nil ||
				strings.Contains(err.Error(), "deadline") && at.Err() == nil {
				t.Errorf("stream %d reads %v", i, err)
			}
		}
		if at.Err() == nil || from.Err() == nil {
			t.Errorf("ended with %v and %v", at.Err(), from.Err())
		}
		<-at.Received()
		<-from.Received()
	})
}

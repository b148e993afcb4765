package data_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/data"
)

// come has a child come with a number, and returns why it is not taken.
func (w *world) come(n tunnel.Number) error {
	bare, err := w.dial(w.ctx)
	if err != nil {
		return err
	}
	conn, err := data.Dial(w.ctx, bare, n, data.Config{})
	if err == nil {
		conn.Close(nil)
		<-conn.Received()
	}
	return err
}

// A number is good once.
func TestNumberIsNotReplayed(t *testing.T) {
	everywhere(t, func(t *testing.T, transport string) {
		w := newWorld(t, transport, echo)
		if err := says(w.open(t), "first"); err != nil {
			t.Fatal(err)
		}
		if err := w.come(w.numbers[0]); err == nil {
			t.Error("a number was taken twice")
		}
		if err := w.come(tunnel.NewNumber()); err == nil {
			t.Error("a number was taken that nobody gave")
		}
		w.first().Close(nil)
		within(t, "the end", func() bool { return len(w.ended()) == 1 })
		if err := w.come(w.numbers[0]); err == nil {
			t.Error("a number was taken again after its connection")
		}
		if err := says(w.open(t), "next"); err != nil {
			t.Error(err)
		}
		if len(w.numbers) != 2 || w.numbers[0] == w.numbers[1] {
			t.Errorf("numbers %x", w.numbers)
		}
	})
}

// Of several that come with the number one is taken. A wrong number spoils nothing.
func TestOneOfMany(t *testing.T) {
	everywhere(t, func(t *testing.T, transport string) {
		w := newWorld(t, transport, echo)
		finished := make(chan struct{})
		w.ask = func(n tunnel.Number) {
			defer close(finished)
			wrong := n
			wrong[15] ^= 1
			for range 5 {
				if err := w.come(wrong); err == nil {
					t.Error("a wrong number was taken")
				}
			}
			var all sync.WaitGroup
			for range 5 {
				all.Go(func() { _ = w.tryConnect(n) })
			}
			all.Wait()
		}
		if err := says(w.open(t), "hello"); err != nil {
			t.Error(err)
		}
		w.links.Close()
		<-finished
		if n := len(w.ended()); n != 1 {
			t.Errorf("%d connections were taken", n)
		}
	})
}

// Whoever is not exactly the one that was asked is refused, with the right number, too.
func TestOthersAreRefused(t *testing.T) {
	for name, other := range map[string]tunnel.Identity{
		"another site":     {Target: "store-1", Key: "00"},
		"a longer name":    {Target: "store-170", Key: "00"},
		"another key":      {Target: "store-17", Key: "01"},
		"no key":           {Target: "store-17"},
		"nobody":           {},
		"an expired child": {Target: "store-17", Key: "00", NotAfter: time.Now().Add(-time.Second)},
	} {
		w := newWorld(t, "pipe", echo)
		asked := w.who
		dial := w.dial
		w.ask = func(n tunnel.Number) {
			w.who.Target = other.Target
			w.dial = w.as(other)
			if err := w.come(n); err == nil {
				t.Errorf("%s was taken", name)
			}
			w.dial = dial
			w.connect(n)
		}
		s, err := w.links.Open(t.Context(), asked.Target, session{w, asked})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := says(s, "hello"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// session is a session of another identity than the world's.
type session struct {
	*world
	who tunnel.Identity
}

func (s session) Peer() tunnel.Identity { return s.who }

// Connections that nobody has asked for end with their handshake, and leave nothing.
func TestFloodOfUnasked(t *testing.T) {
	for _, transport := range []string{"tcp", "quic"} {
		t.Run(transport, func(t *testing.T) {
			w := newWorld(t, transport, echo)
			before := runtime.NumGoroutine()
			var flood sync.WaitGroup
			stop := make(chan struct{})
			for range 4 {
				flood.Go(func() {
					for range 50 {
						if err := w.come(tunnel.NewNumber()); err == nil {
							t.Error("a connection was taken that nobody has asked for")
						}
						select {
						case <-stop:
							return
						default:
						}
					}
				})
			}
			// The flood is the child's own: it takes the places of connections whose number was not
			// read yet, so that a request may have to be made again.
			within(t, "a stream meanwhile", func() bool {
				s, err := w.links.Open(w.ctx, w.who.Target, w)
				return err == nil && says(s, "meanwhile") == nil
			})
			close(stop)
			flood.Wait()
			for range 50 {
				_ = w.come(tunnel.NewNumber())
			}
			w.first().Close(nil)
			within(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() <= before })
		})
	}
}

// A child that is removed loses its connection and its streams, and learns why; what was asked for
// it ends, too.
func TestRemoval(t *testing.T) {
	everywhere(t, func(t *testing.T, transport string) {
		w := newWorld(t, transport, echo)
		s := w.open(t)
		s.Write([]byte("x"))
		if _, err := io.ReadFull(s, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		w.links.End(
			w.who.Target,
			tunnel.ErrRemoved,
			func(who tunnel.Identity) bool { return who.Target == w.who.Target },
		)
		if err := w.first().Err(); err != nil {
			t.Errorf("ended although its holder stays: %v", err)
		}
		nobody := func(tunnel.Identity) bool { return false }
		w.links.End(w.who.Target, tunnel.ErrRemoved, nobody)
		if _, err := s.Read(make([]byte, 1)); err == nil || err == io.EOF {
			t.Errorf("the stream reads %v", err)
		}
		within(t, "the child's end", func() bool { return len(w.ended()) == 1 })
		if err := w.ended()[0]; !errors.Is(err, tunnel.ErrRemoved) {
			t.Errorf("the child was told %v", err)
		}
		w.ask = func(tunnel.Number) { w.links.End(w.who.Target, tunnel.ErrRemoved, nobody) }
		if _, err := w.links.Open(t.Context(), w.who.Target, w); !errors.Is(err, tunnel.ErrRemoved) {
			t.Errorf("what was asked for ended with %v", err)
		}
	})
}

// A child that cannot connect says why, at once.
func TestAChildThatCannot(t *testing.T) {
	w := newWorld(t, "pipe", echo)
	w.dial = func(context.Context) (data.Bare, error) { return nil, errors.New("no way leads there") }
	if _, err := w.links.Open(t.Context(), w.who.Target, w); err == nil ||
		!strings.Contains(err.Error(), "no way leads there") {
		t.Errorf("told %v", err)
	}
	w.ask = func(n tunnel.Number) { // another child's word, and another number's, mean nothing
		w.links.NotConnected(
			tunnel.Identity{Target: w.who.Target, Key: "01"},
			tunnel.NotConnected{Number: n, Why: "mine"},
		)
		w.links.NotConnected(w.who, tunnel.NotConnected{Number: tunnel.NewNumber(), Why: "another"})
		w.links.NotConnected(w.who, tunnel.NotConnected{Number: n, Why: "this"})
	}
	if _, err := w.links.Open(t.Context(), w.who.Target, w); err == nil || !strings.HasSuffix(err.Error(), "this") {
		t.Errorf("told %v", err)
	}
	if _, err := w.links.Open(t.Context(), w.who.Target, nil); !errors.Is(err, data.ErrNoSession) {
		t.Errorf("without a session: %v", err)
	}
}

// A session that takes the place of another is asked for what the one before may not have got.
func TestAskedAgain(t *testing.T) {
	w := newWorld(t, "pipe", echo)
	connect := w.ask
	asked := make(chan tunnel.Number, 1)
	w.ask = func(n tunnel.Number) { asked <- n } // it is lost with its session
	opened := make(chan error, 1)
	go func() {
		s, err := w.links.Open(w.ctx, w.who.Target, w)
		if err == nil {
			err = says(s, "hello")
		}
		opened <- err
	}()
	lost := <-asked
	w.ask = connect
	w.links.Again(session{w, tunnel.Identity{Target: w.who.Target, Key: "01"}}) // another site has the name
	w.links.Again(w)
	if err := <-opened; err != nil {
		t.Error(err)
	}
	if len(w.numbers) != 2 || w.numbers[1] != lost {
		t.Errorf("asked with %x", w.numbers)
	}
	w.links.Again(w) // there is nothing to ask for
	if len(w.numbers) != 2 {
		t.Error("asked for a connection that stands")
	}
}

// When a session of another run of the child comes, the connection of the run before is over at
// once.
func TestAnotherRunOfTheChild(t *testing.T) {
	w := newWorld(t, "pipe", echo)
	w.run = "a"
	s := w.open(t)
	s.Write([]byte("x"))
	w.links.Again(w)
	if _, err := io.ReadFull(s, make([]byte, 1)); err != nil {
		t.Fatalf("the same run: %v", err)
	}
	w.run = "b"
	w.links.Again(w)
	if err := says(w.open(t), "hello"); err != nil {
		t.Error(err)
	}
	if _, err := s.Read(make([]byte, 1)); err == nil || err == io.EOF {
		t.Errorf("a stream of the run before reads %v", err)
	}
	within(t, "the end of the first", func() bool { return len(w.ended()) == 1 })
	if n := len(w.numbers); n != 2 {
		t.Errorf("asked %d times", n)
	}
}

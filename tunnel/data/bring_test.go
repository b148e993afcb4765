package data_test

import (
	"testing"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/mux"
)

// last is the number that the child was asked for last, and how often it was.
func (w *world) last() (n tunnel.Number, times int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.numbers) > 0 {
		n = w.numbers[len(w.numbers)-1]
	}
	return n, len(w.numbers)
}

// child is the child's newest connection that stands, nil for none.
func (w *world) child() *mux.Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.conns); n > 0 && w.conns[n-1].Err() == nil {
		return w.conns[n-1]
	}
	return nil
}

// A child that wants a connection is asked for one: once, while it comes or stands, and again when
// the child says that this very one has ended.
func TestAChildWantsAConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "pipe", echo)
	w.links.Bring(w, tunnel.Wanted{})
	within(t, "a connection", func() bool { return w.child() != nil })
	w.open(t) // the parent has it, too
	first, _ := w.last()
	w.links.Bring(w, tunnel.Wanted{})
	w.links.Bring(w, tunnel.Wanted{Ended: tunnel.NewNumber()})
	if _, times := w.last(); times != 1 || len(w.links.All()) != 1 {
		t.Errorf("asked %d times, %d connections", times, len(w.links.All()))
	}
	w.links.Bring(w, tunnel.Wanted{Ended: first})
	within(t, "another connection", func() bool {
		n, times := w.last()
		return times == 2 && n != first && len(w.links.All()) == 1 && w.child() != nil
	})
}

// Without an answer of the child the parent asks again at the next wish.
func TestAWishThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "pipe", echo)
	w.ask = func(n tunnel.Number) { w.links.NotConnected(w.who, tunnel.NotConnected{Number: n, Why: "no way"}) }
	w.links.Bring(w, tunnel.Wanted{})
	within(t, "asked", func() bool { _, times := w.last(); return times == 1 })
	within(t, "asked again", func() bool {
		w.links.Bring(w, tunnel.Wanted{})
		_, times := w.last()
		return times > 1
	})
}

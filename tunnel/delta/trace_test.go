package delta_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/pipe"
	"skerry.dev/skerry/tunnel/wire"
)

// tracer follows some keys.
type tracer struct {
	follows map[store.Key]bool

	mu    sync.Mutex
	ended []error
}

type span struct{ *tracer }

func (t *tracer) Sending(e store.Entry) delta.Span {
	if !t.follows[e.Key] {
		return nil
	}
	return span{t}
}

var ids = wire.TraceIDs{Trace: [16]byte{1}, Span: [8]byte{2}}

func (span) IDs() wire.TraceIDs { return ids }

func (s span) End(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tracer.ended = append(s.tracer.ended, err)
}

func (t *tracer) ends() []error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended
}

// crossed is how many bytes a sender has sent of three objects.
func crossed(t *testing.T, tr *tracer, told map[store.Key]wire.TraceIDs) (bytes uint64) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newSource(store.NewIncarnation(), 0), storetest.NewMemory()
		src.set(map[store.Key]string{key(1): body(1, 1), key(2): body(2, 1), key(3): body(3, 1)})
		var receive delta.ReceiveOptions
		if told != nil {
			receive.OnTraced = func(k store.Key, got wire.TraceIDs) {
				if _, stored, _ := sink.Get(k); stored {
					t.Errorf("told of %s after it was stored", k)
				}
				told[k] = got
			}
		}
		send := delta.SendOptions{}
		if tr != nil {
			send.Tracer = tr
		}
		s := connectAs(t, src.Feed, sink, send, receive, pipe.Options{})
		time.Sleep(time.Minute)
		if sink.Root() != src.Root() {
			t.Error("the copy is not equal")
		}
		bytes = s.parent.Stats().SentBytes
		s.end()
	})
	return bytes
}

// A receiver that asks for it is told which entries are followed, before it stores them; spans end
// when they are durable. Without a sampled entry not one byte more crosses.
func TestTracesCross(t *testing.T) {
	tr := &tracer{follows: map[store.Key]bool{key(2): true}}
	told := map[store.Key]wire.TraceIDs{}
	with := crossed(t, tr, told)
	if len(told) != 1 || told[key(2)] != ids {
		t.Errorf("told %v", told)
	}
	if ended := tr.ends(); len(ended) != 1 || ended[0] != nil {
		t.Errorf("spans ended with %v", ended)
	}
	plain := crossed(t, nil, nil)
	if asked := crossed(t, &tracer{}, map[store.Key]wire.TraceIDs{}); asked != plain {
		t.Errorf("%d bytes without a trace, %d without tracing", asked, plain)
	}
	if unasked := crossed(t, &tracer{follows: tr.follows}, nil); unasked != plain {
		t.Errorf("%d bytes to a receiver that does not ask, %d without tracing", unasked, plain)
	}
	if more := with - plain; more < 25 || more > 30 {
		t.Errorf("a trace takes %d bytes", more)
	}
}

// A span ends with an error when the stream ends before its entry is durable.
func TestSpansEndWithTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(store.NewIncarnation(), 0)
		tr := &tracer{follows: map[store.Key]bool{key(1): true}}
		src.set(map[store.Key]string{key(1): body(1, 1)})
		s := connectAs(t, src.Feed, storetest.NewMemory(), delta.SendOptions{Tracer: tr}, delta.ReceiveOptions{
			OnTraced: func(store.Key, wire.TraceIDs) { time.Sleep(time.Hour) }}, pipe.Options{})
		time.Sleep(time.Minute)
		if ended := tr.ends(); len(ended) != 0 {
			t.Errorf("spans ended with %v before anything was stored", ended)
		}
		s.stop()
		time.Sleep(time.Minute)
		if ended := tr.ends(); len(ended) != 1 || ended[0] == nil {
			t.Errorf("spans ended with %v", ended)
		}
		s.end()
	})
}

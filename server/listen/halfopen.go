package listen

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"skerry.dev/skerry/tunnel"
)

// Limits bound connections whose handshake is not done. One costs about 30 KB.
type Limits struct {
	// Total of all, and of one source: an IPv4 address, or an IPv6 network of 64 bits.
	Total, Source int
	// Stalled is how long one waits for its peer until it may be dropped for another.
	Stalled time.Duration
}

// DefaultLimits cost at most 30 MB. Many sites behind one address are fine: an honest handshake is
// done in two round trips.
var DefaultLimits = Limits{Total: 1024, Source: 256, Stalled: 500 * time.Millisecond}

// halfOpen are the handshakes that are going on. When there are too many the oldest that waits for
// its peer is dropped, of the source that has too many or of all: who holds connections to fill the
// place loses them. Where none has waited for long it is this side that has too much to do, and the
// newcomer is dropped: if it took the place of one that is nearly done, none would ever be done in
// a storm.
type halfOpen struct {
	limits Limits

	mu       sync.Mutex
	all      *list.List // of *handshake, the oldest first
	sources  map[netip.Prefix]*list.List
	drops    int
	lastFrom netip.Prefix
}

// handshake is one of them.
type handshake struct {
	conn             net.Conn
	source           netip.Prefix
	inAll, inSources *list.Element // nil when it is done or dropped
	waits            atomic.Int64  // since when for its peer, Unix nanoseconds; 0 while it does not
}

// waiting is a connection whose handshake notes when it waits for its peer.
type waiting struct {
	net.Conn
	h *handshake
}

// Read implements net.Conn.
func (w waiting) Read(b []byte) (int, error) {
	w.h.waits.Store(time.Now().UnixNano())
	defer w.h.waits.Store(0)
	return w.Conn.Read(b)
}

func newHalfOpen(limits Limits) *halfOpen {
	return &halfOpen{limits: limits, all: list.New(), sources: map[netip.Prefix]*list.List{}}
}

// add takes a new one in, and makes room for it. It returns nil when there is none.
func (o *halfOpen) add(c net.Conn) *handshake {
	h := &handshake{conn: c, source: tunnel.SourceOf(c.RemoteAddr())}
	o.mu.Lock()
	defer o.mu.Unlock()
	full := o.sources[h.source]
	if full == nil || full.Len() < o.limits.Source {
		full = o.all
		if full.Len() < o.limits.Total {
			full = nil
		}
	}
	if full != nil {
		o.drops++
		o.lastFrom = h.source
		stalled := o.stalled(full)
		if stalled == nil {
			return nil
		}
		o.lastFrom = stalled.source
		o.remove(stalled)
		stalled.conn.Close()
	}
	same := o.sources[h.source]
	if same == nil {
		same = list.New()
		o.sources[h.source] = same
	}
	h.inAll, h.inSources = o.all.PushBack(h), same.PushBack(h)
	return h
}

// mostLooked bounds how many are looked at to make room for one.
const mostLooked = 64

// stalled returns the oldest that has waited for its peer for long, nil where the first ones have
// not.
func (o *halfOpen) stalled(list *list.List) *handshake {
	long := time.Now().Add(-o.limits.Stalled).UnixNano()
	for e, n := list.Front(), 0; e != nil && n < mostLooked; e, n = e.Next(), n+1 {
		h := e.Value.(*handshake)
		if since := h.waits.Load(); since > 0 && since <= long {
			return h
		}
	}
	return nil
}

// done lets go of one that is done, has failed or was dropped.
func (o *halfOpen) done(h *handshake) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.remove(h)
}

func (o *halfOpen) remove(h *handshake) {
	if h.inAll == nil {
		return
	}
	o.all.Remove(h.inAll)
	same := o.sources[h.source]
	same.Remove(h.inSources)
	if same.Len() == 0 {
		delete(o.sources, h.source)
	}
	h.inAll, h.inSources = nil, nil
}

// drop counts a connection that another limit has dropped.
func (o *halfOpen) drop(source netip.Prefix) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drops++
	o.lastFrom = source
}

// dropped returns how many were dropped since it was called last, and where the last of them came
// from.
func (o *halfOpen) dropped() (n int, lastFrom netip.Prefix) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, o.drops = o.drops, 0
	return n, o.lastFrom
}

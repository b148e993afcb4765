package listen

import (
	"container/list"
	"net"
	"net/netip"
	"sync"

	"skerry.dev/skerry/tunnel"
)

// Limits bound connections whose handshake is not done. One costs about 30 KB.
type Limits struct {
	// Total of all, and of one source: an IPv4 address, or an IPv6 network of 64 bits.
	Total, Source int
}

// DefaultLimits cost at most 30 MB. Many sites behind one address are fine: an honest handshake is done in two round trips.
var DefaultLimits = Limits{Total: 1024, Source: 256}

// halfOpen are the handshakes that are going on. When there are too many the oldest is dropped, of the source that has too many or of all: who
// is honest has finished long before, who holds connections to fill the place loses them.
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
}

func newHalfOpen(limits Limits) *halfOpen {
	return &halfOpen{limits: limits, all: list.New(), sources: map[netip.Prefix]*list.List{}}
}

// add makes room for a new one.
func (o *halfOpen) add(c net.Conn) *handshake {
	h := &handshake{conn: c, source: tunnel.SourceOf(c.RemoteAddr())}
	o.mu.Lock()
	defer o.mu.Unlock()
	same := o.sources[h.source]
	if same == nil {
		same = list.New()
		o.sources[h.source] = same
	}
	switch {
	case same.Len() >= o.limits.Source:
		o.drop(same.Front().Value.(*handshake))
	case o.all.Len() >= o.limits.Total:
		o.drop(o.all.Front().Value.(*handshake))
	}
	o.sources[h.source] = same // it may have been the last of its source that was dropped
	h.inAll, h.inSources = o.all.PushBack(h), same.PushBack(h)
	return h
}

// done lets go of one that is done, has failed or was dropped.
func (o *halfOpen) done(h *handshake) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.remove(h)
}

func (o *halfOpen) drop(h *handshake) {
	o.remove(h)
	h.conn.Close()
	o.drops++
	o.lastFrom = h.source
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

// dropped returns how many were dropped since it was called last, and where the last of them came from.
func (o *halfOpen) dropped() (n int, lastFrom netip.Prefix) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, o.drops = o.drops, 0
	return n, o.lastFrom
}

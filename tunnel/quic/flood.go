package quic

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"

	quicgo "github.com/quic-go/quic-go"

	"skerry.dev/skerry/tunnel"
)

// Limits bound the handshakes that a parent has open. Each costs memory until it is done, or has
// been silent for handshakeIdle.
type Limits struct {
	// Verify is how many open handshakes make a newcomer prove its address first (RFC 9000, 8.1.2).
	// That costs the newcomer a round trip and this side nothing. Whoever forges addresses cannot
	// do it.
	Verify int
	// Total bounds the handshakes, Source those from one address (an IPv6 network of 64 bits). More
	// are refused, and come again.
	Total, Source int
}

// DefaultLimits let hundreds of sites behind one address come at a time, because an honest
// handshake takes a round trip or two.
var DefaultLimits = Limits{Verify: 64, Total: 512, Source: 256}

// errCrowded refuses a newcomer.
var errCrowded = errors.New("too many handshakes are going on")

// handshakes counts those that go on.
type handshakes struct {
	limits Limits

	mu      sync.Mutex
	total   int
	sources map[netip.Prefix]int
	refused int
}

func newHandshakes(l Limits) *handshakes {
	return &handshakes{limits: l, sources: map[netip.Prefix]int{}}
}

// verify implements quicgo.Transport.VerifySourceAddress.
func (h *handshakes) verify(net.Addr) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.total >= h.limits.Verify
}

// doneKey is where the context of a connection has the function that ends the handshake's count.
type doneKey struct{}

// begin implements quicgo.Transport.ConnContext.
func (h *handshakes) begin(ctx context.Context, info *quicgo.ClientInfo) (context.Context, error) {
	source := tunnel.SourceOf(info.RemoteAddr)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.total >= h.limits.Total || h.sources[source] >= h.limits.Source {
		h.refused++
		return nil, errCrowded
	}
	h.total++
	h.sources[source]++
	done := sync.OnceFunc(func() { h.end(source) })
	context.AfterFunc(ctx, done)
	return context.WithValue(ctx, doneKey{}, done), nil
}

// done is called when the handshake of a connection is done. The end of a failed one's context ends
// its count.
func (h *handshakes) done(ctx context.Context) {
	if done, ok := ctx.Value(doneKey{}).(func()); ok {
		done()
	}
}

func (h *handshakes) end(source netip.Prefix) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.total--
	if h.sources[source]--; h.sources[source] == 0 {
		delete(h.sources, source)
	}
}

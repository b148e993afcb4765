package tunneltest

import (
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// Relay is a network path with faults. It passes UDP datagrams between a child and a parent, as a
// router with a NAT does.
type Relay struct {
	front *net.UDPConn
	all   sync.WaitGroup

	mu      sync.Mutex
	back    *net.UDPAddr
	faults  Faults
	outside map[string]*net.UDPConn // by the child's address
	closed  bool
}

// Faults of a Relay. The zero value has none.
type Faults struct {
	// Cut drops everything.
	Cut bool
	// Loss is the share of datagrams that is dropped, each way.
	Loss float64
	// Delay is how long a datagram takes, each way. None overtakes another.
	Delay time.Duration
	// MTU is the largest payload that passes; 0 is any.
	MTU int
	// Drop reports whether a datagram is dropped, of the child (up) or of the parent; nil drops
	// none.
	Drop func(up bool, datagram []byte) bool
}

// NewRelay passes datagrams from an address on to the parent's. It ends with the test.
func NewRelay(t testing.TB, address string, parent net.Addr) *Relay {
	t.Helper()
	front, err := net.ListenPacket("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	r := &Relay{front: front.(*net.UDPConn), back: parent.(*net.UDPAddr), outside: map[string]*net.UDPConn{}}
	r.all.Go(func() { r.carry(r.front, true, r.inward) })
	t.Cleanup(func() {
		r.mu.Lock()
		r.closed = true
		r.mu.Unlock()
		r.front.Close()
		r.Rebind()
		r.all.Wait()
	})
	return r
}

// Addr is where the child dials.
func (r *Relay) Addr() net.Addr { return r.front.LocalAddr() }

// Set changes the faults from now on.
func (r *Relay) Set(f Faults) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = f
}

// Lead passes datagrams from now on to another parent, which replaces the one before.
func (r *Relay) Lead(to net.Addr) {
	r.mu.Lock()
	r.back = to.(*net.UDPAddr)
	r.mu.Unlock()
	r.Rebind()
}

// Rebind forgets where children seemed to come from, as a NAT does: their next datagram comes from
// another port.
func (r *Relay) Rebind() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.outside {
		c.Close()
	}
	clear(r.outside)
}

// carry reads datagrams until the socket is closed.
func (r *Relay) carry(from *net.UDPConn, up bool, pass func(datagram []byte, sender *net.UDPAddr)) {
	buffer := make([]byte, 64<<10)
	late := make(chan delayed, delayedMost)
	defer close(late)
	r.all.Go(func() { deliver(late, pass) })
	for {
		n, sender, err := from.ReadFromUDP(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		} else if err != nil {
			continue // an ICMP error of an earlier datagram
		}
		r.mu.Lock()
		f := r.faults
		r.mu.Unlock()
		if f.Cut || rand.Float64() < f.Loss || f.MTU > 0 && n > f.MTU || f.Drop != nil && f.Drop(up, buffer[:n]) {
			continue
		}
		datagram := append([]byte(nil), buffer[:n]...)
		if f.Delay == 0 {
			pass(datagram, sender)
			continue
		}
		select {
		case late <- delayed{datagram, sender, time.Now().Add(f.Delay)}:
		default: // a router's queue is full
		}
	}
}

// delayed is a datagram on its way.
type delayed struct {
	datagram []byte
	sender   *net.UDPAddr
	at       time.Time
}

// delayedMost is how many datagrams are on their way in one direction.
const delayedMost = 16 << 10

// deliver passes datagrams on when they are due, in their order.
func deliver(late <-chan delayed, pass func([]byte, *net.UDPAddr)) {
	for d := range late {
		time.Sleep(time.Until(d.at))
		pass(d.datagram, d.sender)
	}
}

func (r *Relay) inward(datagram []byte, child *net.UDPAddr) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	out := r.outside[child.String()]
	if out == nil {
		var err error
		if out, err = net.DialUDP("udp", nil, r.back); err != nil {
			return
		}
		r.outside[child.String()] = out
		r.all.Go(func() {
			r.carry(out, false, func(datagram []byte, _ *net.UDPAddr) { _, _ = r.front.WriteToUDP(datagram, child) })
		})
	}
	_, _ = out.Write(datagram) // lost like any other when it fails
}

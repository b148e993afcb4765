package fault

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// link carries every packet of a network through this process. The router
// routes what comes from a host into a TUN device; the link reads it there,
// decides its fate and writes it back after its delay, and the router then
// forwards it like any other. TCP, UDP and ICMP all go the same way.
type link struct {
	tun   *os.File
	hosts map[netip.Addr]string
	rules atomic.Pointer[Rules]

	free map[way]time.Time // when the packets before have passed, of a way with a rate; of run alone

	mu     sync.Mutex
	flight flight
	wake   chan struct{} // an earlier packet than all others was added
}

// maxFlight bounds the bytes on their way; what comes then is lost, as in a
// router whose buffer is full.
const maxFlight = 64 << 20

// openTUN makes the TUN device in the calling process's network namespace.
func openTUN(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open /dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return nil, err
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("make TUN device %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), "/dev/net/tun"), nil
}

func newLink(tun *os.File, hosts map[netip.Addr]string) *link {
	l := &link{tun: tun, hosts: hosts, free: map[way]time.Time{}, wake: make(chan struct{}, 1)}
	l.rules.Store(&Rules{})
	return l
}

// run carries packets until ctx ends.
func (l *link) run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { l.tun.Close() })
	defer stop()
	go l.deliver(ctx)
	buffer := make([]byte, 1<<16)
	for {
		n, err := l.tun.Read(buffer)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read packet: %w", err)
		}
		packet := buffer[:n]
		from, to, err := l.ends(packet)
		if err != nil {
			continue // not of this network: dropped
		}
		rules := *l.rules.Load()
		delay, lost := rules.fate(from, to, n, packet[9], rand.Float64)
		if rate := rules.rate(from, to); rate > 0 && !lost {
			var waits time.Duration
			waits, lost = l.paced(from, to, n, rate, time.Now())
			delay += waits
		}
		switch {
		case lost:
		case delay <= 0:
			l.write(packet)
		default:
			l.launch(append([]byte(nil), packet...), time.Now().Add(delay))
		}
	}
}

// way is one way between two hosts.
type way struct{ from, to string }

// maxQueue is for how long a packet may wait for those before it; what would wait longer is lost.
const maxQueue = 250 * time.Millisecond

// paced returns when a packet has passed a way with a rate, or that it is lost.
func (l *link) paced(from, to string, size int, rate int64, now time.Time) (after time.Duration, lost bool) {
	w := way{from, to}
	begins := l.free[w]
	if begins.Before(now) {
		begins = now
	}
	ends := begins.Add(time.Duration(int64(size) * 8 * int64(time.Second) / rate))
	if ends.Sub(now) > maxQueue {
		return 0, true
	}
	l.free[w] = ends
	return ends.Sub(now), false
}

var errForeign = errors.New("not an IPv4 packet")

// ends returns the hosts at both ends of an IPv4 packet; an address of no host
// is "".
func (l *link) ends(packet []byte) (from, to string, err error) {
	if len(packet) < 20 || packet[0]>>4 != 4 {
		return "", "", errForeign
	}
	source := netip.AddrFrom4([4]byte(packet[12:16]))
	destination := netip.AddrFrom4([4]byte(packet[16:20]))
	return l.hosts[source], l.hosts[destination], nil
}

// write hands a packet to the router. What it cannot take is lost, as on any
// link.
func (l *link) write(packet []byte) { _, _ = l.tun.Write(packet) }

func (l *link) launch(packet []byte, due time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flight.bytes+len(packet) > maxFlight {
		return
	}
	if l.flight.add(packet, due) {
		select {
		case l.wake <- struct{}{}:
		default: // it is awake already
		}
	}
}

// deliver writes each packet when it is due.
func (l *link) deliver(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		l.mu.Lock()
		packet, wait := l.flight.next(time.Now())
		l.mu.Unlock()
		if packet != nil {
			l.write(packet)
			continue
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-l.wake:
		case <-ctx.Done():
			return
		}
	}
}

// flight are the packets on their way, the next due first.
type flight struct {
	packets packets
	count   uint64
	bytes   int
}

// add adds a packet and says whether it is the next due.
func (f *flight) add(data []byte, due time.Time) bool {
	f.count++
	f.bytes += len(data)
	heap.Push(&f.packets, packet{due: due, order: f.count, data: data})
	return f.packets[0].order == f.count
}

// next removes and returns a packet that is due, or nil and how long to wait.
func (f *flight) next(now time.Time) ([]byte, time.Duration) {
	if len(f.packets) == 0 {
		return nil, time.Hour
	}
	if wait := f.packets[0].due.Sub(now); wait > 0 {
		return nil, wait
	}
	p := heap.Pop(&f.packets).(packet)
	f.bytes -= len(p.data)
	return p.data, 0
}

type packet struct {
	due   time.Time
	order uint64 // packets of equal delay keep their order
	data  []byte
}

type packets []packet

func (p packets) Len() int { return len(p) }
func (p packets) Less(i, j int) bool {
	if p[i].due.Equal(p[j].due) {
		return p[i].order < p[j].order
	}
	return p[i].due.Before(p[j].due)
}
func (p packets) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p *packets) Push(x any)   { *p = append(*p, x.(packet)) }
func (p *packets) Pop() any {
	last := (*p)[len(*p)-1]
	(*p)[len(*p)-1] = packet{}
	*p = (*p)[:len(*p)-1]
	return last
}

package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"skerry.dev/skerry/testenv/drive"
)

// link stands between an agent and its center on one loopback address: it forwards UDP and TCP,
// delays each direction by a set time and counts the payload of UDP datagrams. Order is kept, so
// jitter cannot reorder.
type link struct {
	Address string
	center  string
	delay   atomic.Int64 // one way, nanoseconds
	bytes   atomic.Int64
	packets atomic.Int64
	shaking atomic.Int64 // bytes of datagrams that begin with a packet of a handshake
	cut     atomic.Bool  // nothing crosses
	onlyUDP atomic.Bool  // connections over TCP are refused

	udp  *net.UDPConn
	tcp  net.Listener
	stop context.CancelFunc
	wg   sync.WaitGroup
}

func newLink(center string) (*link, error) {
	address, err := drive.FreeAddress()
	if err != nil {
		return nil, err
	}
	ua, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, err
	}
	l := &link{Address: address, center: center}
	if l.udp, err = net.ListenUDP("udp", ua); err != nil {
		return nil, fmt.Errorf("open the link: %w", err)
	}
	if l.tcp, err = net.Listen("tcp", address); err != nil {
		l.udp.Close()
		return nil, fmt.Errorf("open the link: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.wg.Go(func() { l.forwardUDP(ctx) })
	l.wg.Go(func() { l.forwardTCP(ctx) })
	return l, nil
}

// Close ends the link and waits for its goroutines.
func (l *link) Close() {
	l.stop()
	l.udp.Close()
	l.tcp.Close()
	l.wg.Wait()
}

// SetRTT delays each direction by half of rtt from now on.
func (l *link) SetRTT(rtt time.Duration) { l.delay.Store(int64(rtt / 2)) }

// Cut lets nothing cross any more, as a link does that is silently down, or lets it cross again.
// What was open over TCP is broken.
func (l *link) Cut(on bool) { l.cut.Store(on) }

// OnlyUDP refuses TCP from now on: what crosses there is not counted, and over either an agent may
// come back.
func (l *link) OnlyUDP() { l.onlyUDP.Store(true) }

// delayed hands over what is put into it after the link's delay, in order.
type delayed struct {
	at   time.Time
	send func()
}

func (l *link) pump(ctx context.Context, in <-chan delayed) {
	for {
		select {
		case d := <-in:
			if wait := time.Until(d.at); wait > 0 {
				t := time.NewTimer(wait)
				select {
				case <-t.C:
				case <-ctx.Done():
					t.Stop()
					return
				}
			}
			d.send()
		case <-ctx.Done():
			return
		}
	}
}

func (l *link) due() time.Time { return time.Now().Add(time.Duration(l.delay.Load())) }

func (l *link) count(datagram []byte) {
	l.bytes.Add(int64(len(datagram)))
	l.packets.Add(1)
	if len(datagram) > 0 && datagram[0]&0x80 != 0 { // the long header of QUIC
		l.shaking.Add(int64(len(datagram)))
	}
}

// forwardUDP keeps one socket to the center per address that talks to the link.
func (l *link) forwardUDP(ctx context.Context) {
	out, back := make(chan delayed, 4096), make(chan delayed, 4096)
	l.wg.Go(func() { l.pump(ctx, out) })
	l.wg.Go(func() { l.pump(ctx, back) })
	peers := map[string]*net.UDPConn{}
	defer func() {
		for _, c := range peers {
			c.Close()
		}
	}()
	buf := make([]byte, 65536)
	for {
		n, from, err := l.udp.ReadFromUDP(buf)
		if err != nil {
			return
		}
		if l.cut.Load() {
			continue
		}
		peer := peers[from.String()]
		if peer == nil {
			ca, err := net.ResolveUDPAddr("udp", l.center)
			if err != nil {
				return
			}
			if peer, err = net.DialUDP("udp", nil, ca); err != nil {
				return
			}
			peers[from.String()] = peer
			l.wg.Go(func() { l.answers(ctx, peer, from, back) })
		}
		l.count(buf[:n])
		data := append([]byte(nil), buf[:n]...)
		push(ctx, out, delayed{l.due(), func() { _, _ = peer.Write(data) }})
	}
}

func (l *link) answers(ctx context.Context, peer *net.UDPConn, to *net.UDPAddr, back chan<- delayed) {
	buf := make([]byte, 65536)
	for {
		n, err := peer.Read(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil || l.cut.Load() {
			continue // the center is not there at the moment
		}
		l.count(buf[:n])
		data := append([]byte(nil), buf[:n]...)
		push(ctx, back, delayed{l.due(), func() { _, _ = l.udp.WriteToUDP(data, to) }})
	}
}

func push(ctx context.Context, to chan<- delayed, d delayed) {
	select {
	case to <- d:
	case <-ctx.Done():
	}
}

func (l *link) forwardTCP(ctx context.Context) {
	for {
		child, err := l.tcp.Accept()
		if err != nil {
			return
		}
		if l.onlyUDP.Load() {
			child.Close()
			continue
		}
		parent, err := net.Dial("tcp", l.center)
		if err != nil || l.cut.Load() {
			child.Close()
			if err == nil {
				parent.Close()
			}
			continue
		}
		context.AfterFunc(ctx, func() { child.Close(); parent.Close() })
		l.wg.Go(func() { l.copyTCP(ctx, parent, child) })
		l.wg.Go(func() { l.copyTCP(ctx, child, parent) })
	}
}

func (l *link) copyTCP(ctx context.Context, to, from net.Conn) {
	in := make(chan delayed, 256)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	go func() { l.pump(ctx, in); close(done) }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if l.cut.Load() {
			err = net.ErrClosed
		} else if n > 0 {
			data := append([]byte(nil), buf[:n]...)
			push(ctx, in, delayed{l.due(), func() { _, _ = to.Write(data) }})
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				push(ctx, in, delayed{l.due(), func() { to.Close(); cancel() }})
				<-done
			}
			to.Close()
			return
		}
	}
}

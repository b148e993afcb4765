package requests

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"skerry.dev/skerry/testenv/netns"
)

// The ports that connections come from: those that Linux uses, too.
const (
	firstPort = 32768
	portCount = 28232
)

// forgets is after how many seconds the connection tracking of a node has forgotten a connection, also
// one that was never answered.
const forgets = 120

// MaxRate is the highest Config.Rate with which no port is used again before it is forgotten.
const MaxRate = portCount / forgets

// ports gives each connection to one address a port of its own, as if each request came from another
// client.
//
// A port that is used again soon says nothing of the application. Who connects to the address of a
// Service that is not there leaves an entry in the connection tracking of the node, without a
// translation to a Pod. What comes from the same port later follows that entry, also when the Service
// is back, and vanishes. Linux does use ports again within seconds. A cluster without Skerry loses 3 %
// that way, at 50 connections a second, when a Service is deleted and made again.
type ports struct{ next atomic.Uint32 }

func newPorts() *ports {
	p := &ports{}
	p.next.Store(rand.Uint32N(portCount))
	return p
}

// take returns the next port. It comes again after all others.
func (p *ports) take() int { return firstPort + int((p.next.Add(1)-1)%portCount) }

// dial connects from inside a network namespace, from the next port that is free.
func (p *ports) dial(ctx context.Context, ns, network, address string) (net.Conn, error) {
	dialer := net.Dialer{Control: prepare}
	for {
		dialer.LocalAddr = &net.TCPAddr{Port: p.take()}
		conn, err := netns.Dial(ctx, &dialer, ns, network, address)
		taken := errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.EADDRNOTAVAIL)
		if !taken || ctx.Err() != nil {
			return conn, err
		}
	}
}

// prepare lets connections to several addresses have the same port, and bounds the time of connecting.
// The kernel counts it: while this process waits for a CPU a deadline of its own would pass although
// the other side has answered.
func prepare(_, _ string, c syscall.RawConn) error {
	var err error
	if outer := c.Control(func(fd uintptr) {
		if err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err == nil {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(connectTime.Milliseconds()))
		}
	}); outer != nil {
		return outer
	}
	return err
}

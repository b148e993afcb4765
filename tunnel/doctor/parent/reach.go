package parent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"skerry.dev/skerry/tunnel/doctor"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/netreason"
	"skerry.dev/skerry/tunnel/proxy"
	"skerry.dev/skerry/tunnel/quic"
)

// tcpTime bounds a connection.
const tcpTime = 6 * time.Second

// datagrams is what a probe with UDP has found.
type datagrams struct {
	largest int // payload, 0 for nothing
	err     error
}

// attempt is what became of one address.
type attempt struct {
	address
	err error // of TCP
	udp datagrams
}

// connect tries TCP and UDP at the same time, to all addresses that a name stands for: which of them
// get through tells what is in the way.
func (w *way) connect(ctx context.Context) (out []doctor.Finding) {
	for _, a := range w.found {
		best := w.try(ctx, a)
		if best.err != nil {
			out = append(out, unreached(best.address, best.err, best.udp).On(a.hostPort))
		} else if w.at.url == "" {
			w.at, w.udp = best.address, best.udp
		}
	}
	return w.several(out, w.at.url != "")
}

// try returns the first attempt that TCP made, else the one that tells most: that there is no route
// for one family of addresses tells little.
func (w *way) try(ctx context.Context, a address) attempt {
	attempts := make([]attempt, len(a.ips))
	var all sync.WaitGroup
	for i, ip := range a.ips {
		attempts[i].address = a
		attempts[i].first = ip
		all.Go(func() { attempts[i].err = w.dial(ctx, attempts[i].address) })
		if !a.proxied {
			all.Go(func() { attempts[i].udp.largest, attempts[i].udp.err = quic.Probe(ctx, ip) })
		}
	}
	all.Wait()
	for _, is := range []func(attempt) bool{
		func(t attempt) bool { return t.err == nil },
		func(t attempt) bool { return t.udp.largest > 0 },
		func(t attempt) bool { return !routeless(t.err) },
	} {
		if i := slices.IndexFunc(attempts, is); i >= 0 {
			return attempts[i]
		}
	}
	return attempts[0]
}

// routeless reports whether nothing was sent, for want of a route.
func routeless(err error) bool {
	return errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH) ||
		errors.Is(err, syscall.ENETDOWN)
}

func (w *way) dial(ctx context.Context, a address) error {
	ctx, cancel := context.WithTimeout(ctx, tcpTime)
	defer cancel()
	c, err := w.through(a)(ctx, "tcp", a.first)
	if err == nil {
		err = c.Close()
	}
	return err
}

// through opens connections to an address, whatever it is called: NO_PROXY may have the name, and
// not the IP that it stands for.
func (w *way) through(a address) enroll.Dial {
	by := w.Proxy
	if !a.proxied {
		by = nil
	}
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return by.DialContext(ctx, network, a.first)
	}
}

// unreached says why TCP does not reach an address.
func unreached(a address, err error, udp datagrams) doctor.Finding {
	why, known := netreason.Of(err)
	if !known {
		why = err.Error()
	}
	switch {
	case errors.Is(err, proxy.ErrCredentials):
		return proxyCredentials.Fails("%s", err)
	case errors.Is(err, proxy.ErrDenied):
		return proxyRefuses.Fails("%s", err)
	case a.proxied && errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, proxy.ErrUnreachable):
		return proxyRefuses.Fails("the proxy has not connected to %s within %s", a.hostPort, tcpTime)
	case a.proxied:
		return proxyUnreachable.Fails("%s", err)
	case udp.largest > 0:
		return tcpBlocked.Fails("TCP to %s: %s; UDP is answered", a.first, why)
	case errors.Is(err, syscall.ECONNREFUSED):
		return nothingListens.Fails("%s: connection refused", a.first)
	case routeless(err):
		return noRoute.Fails("%s: %s", a.first, why).Do("bring the network interface up, or add a route: "+
			"ip route get %s shows what is missing", hostOf(a.first))
	default:
		return parentSilent.Fails("TCP to %s: %s; UDP: no answer", a.first, why)
	}
}

func hostOf(hostPort string) string {
	host, _, _ := net.SplitHostPort(hostPort)
	return host
}

// tcpSegmentPacket is about the size of the packets of the agent's TCP connections: proxy.Dialer keeps
// their segments so small.
const tcpSegmentPacket = 1152

// hole reports whether small packets cross and full ones do not.
func (w *way) hole() bool { return w.udp.largest > 0 && w.udp.largest < quic.FullPacket }

// sizes says what crosses.
func (w *way) sizes() string {
	return fmt.Sprintf("packets of %d bytes reach %s and those of %d vanish", w.udp.largest+headers, w.at.first,
		quic.FullPacket+headers)
}

// headers are those of UDP and IPv4.
const headers = 28

func (w *way) datagrams(context.Context) []doctor.Finding {
	switch {
	case w.at.proxied:
		return one(doctor.Skip("a proxy carries no UDP: the site uses TCP"))
	case w.udp.largest == quic.FullPacket:
		return one(doctor.Good("packets of %d bytes reach %s", quic.FullPacket+headers, w.at.first))
	case w.hole() && w.udp.largest+headers < tcpSegmentPacket:
		return one(mtuHole.Fails("%s", w.sizes()))
	case w.hole():
		return one(mtuHole.Warns("%s; TCP works, because its segments are small", w.sizes()))
	case errors.Is(w.udp.err, quic.ErrNoListener):
		return one(udpBlocked.Warns("UDP to %s is rejected; TCP is answered", w.at.first))
	default:
		return one(udpBlocked.Warns("UDP to %s: no answer; TCP is answered", w.at.first))
	}
}

package uplink

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"skerry.dev/skerry/tunnel"
)

// The transports of a way, as tunnel.Conn names them.
const (
	overQUIC = "quic"
	overTCP  = "tcp"
)

// parent is one configured address of the parent.
type parent struct {
	url      string // https://HOST:PORT
	hostPort string
}

// defaultPort is a center's.
const defaultPort = "7443"

// parseParents reads the addresses of one parent. The first one is preferred.
func parseParents(urls []string) ([]parent, error) {
	var out []parent
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.User != nil {
			return nil, fmt.Errorf("parent %q: write https://HOST:PORT", text)
		}
		p := parent{url: "https://" + u.Host, hostPort: u.Host}
		if u.Port() == "" {
			p.hostPort = net.JoinHostPort(u.Hostname(), defaultPort)
			p.url = "https://" + p.hostPort
		}
		out = append(out, p)
	}
	if len(out) == 0 {
		return nil, errors.New("no address of the parent was given")
	}
	return out, nil
}

// Route is one route to the parent: a transport to an address.
type Route struct {
	// Parent is the configured HOST:PORT, Address the IP:PORT that it stands for; both are the same
	// where a proxy looks the name up.
	Parent, Address string
	// Transport is quic or tcp.
	Transport string
}

// String is for logs.
func (w Route) String() string {
	if w.Parent == w.Address {
		return w.Transport + " " + w.Parent
	}
	return fmt.Sprintf("%s %s (%s)", w.Transport, w.Parent, w.Address)
}

// maxAddresses bounds how many addresses of one name are tried.
const maxAddresses = 4

// lookupTime bounds a DNS lookup, whose answer may never come.
const lookupTime = 3 * time.Second

// resolve returns the addresses of a parent, IPv6 and IPv4 in turn.
func resolve(ctx context.Context, p parent) ([]string, error) {
	host, port, err := net.SplitHostPort(p.hostPort)
	if err != nil {
		return nil, err
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return []string{p.hostPort}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("look up the parent: %w", err)
	}
	var families [2][]string
	for _, ip := range ips {
		ip, kind := ip.Unmap(), 0
		if ip.Is4() {
			kind = 1
		}
		families[kind] = append(families[kind], netip.AddrPortFrom(ip, portOf(port)).String())
	}
	var out []string
	for i := 0; len(out) < maxAddresses && (i < len(families[0]) || i < len(families[1])); i++ {
		for _, f := range families {
			if i < len(f) {
				out = append(out, f[i])
			}
		}
	}
	return out, nil
}

func portOf(text string) uint16 {
	n, err := net.LookupPort("tcp", text)
	if err != nil {
		return 0
	}
	return uint16(n)
}

// local reports whether an error arose on this machine before anything was sent: no route, no
// address, a local firewall.
func local(err error) bool {
	for _, e := range []syscall.Errno{syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.ENETDOWN,
		syscall.EHOSTDOWN, syscall.EPERM, syscall.EACCES,
		syscall.EADDRNOTAVAIL, syscall.EINVAL} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// Dial opens a connection to the parent by one route. Meanwhile it records in answers that the
// parent answers.
type Dial func(ctx context.Context, w Route, answers *dialActivity) (tunnel.Conn, error)

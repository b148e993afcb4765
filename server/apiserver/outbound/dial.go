package outbound

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// DialContext dials as net.Dialer does, if the address that it comes to may be dialled.
func (r *Rules) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{
		Timeout:   10 * time.Second,
		KeepAlive: 30 * time.Second,
		Control: func(_, resolved string, _ syscall.RawConn) error {
			a, err := netip.ParseAddrPort(resolved)
			if err != nil {
				return fmt.Errorf("judge the address %q: %w", resolved, err)
			}
			return r.Check(a.Addr())
		},
	}
	return d.DialContext(ctx, network, address)
}

// CheckURL returns *Refused for a URL with an address that may not be dialled, so that its writer
// learns that at once. A host name is checked when it is dialled.
func (r *Rules) CheckURL(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return nil // whoever takes URLs says so
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil {
		return r.Check(a)
	}
	return nil
}

package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"skerry.dev/skerry/agent/target"
)

// The values of Config.Address beside HOST:PORT and :PORT.
const (
	// Auto finds an address of this machine, and takes DefaultPort or another free port.
	Auto = "auto"
	// Off has no gateway.
	Off = "off"
)

// DefaultPort is the port of the gateway where nothing else is said. Pods do not see it.
const DefaultPort = 7446

// CheckAddress returns an error that says what Address may be.
func CheckAddress(address string) error {
	if address == Auto || address == Off {
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if err == nil && host != "" {
		_, err = netip.ParseAddr(host)
	}
	if n, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil || n == 0 {
		return fmt.Errorf("%q: give IP:PORT by which the site's pods reach this machine, :PORT to have the IP "+
			"found, %s or %s",
			address, Auto, Off)
	}
	return nil
}

// listen opens the port of the gateway.
func (g *Gateway) listen(ctx context.Context) (net.Listener, netip.AddrPort, error) {
	host, port := "", strconv.Itoa(DefaultPort)
	if g.Address != Auto {
		host, port, _ = net.SplitHostPort(g.Address) // which CheckAddress has checked
	}
	if host == "" {
		at, err := ownAddress(ctx, g.Clients)
		if err != nil {
			return nil, netip.AddrPort{}, fmt.Errorf("find the address of this machine by which pods reach it "+
				"(give --gateway-address IP:PORT): %w", err)
		}
		host = at.String()
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil && g.Address == Auto {
		l, err = (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return nil, netip.AddrPort{}, fmt.Errorf("listen at %s for pods (give another --gateway-address): %w",
			net.JoinHostPort(host, port), err)
	}
	at, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil {
		return nil, netip.AddrPort{}, errors.Join(err, l.Close())
	}
	return l, netip.AddrPortFrom(at.Addr().Unmap(), at.Port()), nil
}

// somewhere is an address that only a default route leads to. Nothing is sent there.
const somewhere = "192.0.2.1:9"

// HostOf is the IP by which pods reach this machine, as Address says or as it is found. Off has none.
func HostOf(ctx context.Context, address string, clients *target.Clients) (netip.Addr, error) {
	host := ""
	if address != Auto {
		host, _, _ = net.SplitHostPort(address) // which CheckAddress has checked
	}
	if host == "" {
		return ownAddress(ctx, clients)
	}
	return netip.ParseAddr(host)
}

// ownAddress finds the address of this machine by which pods reach it: that which leads to the
// target, or that of the target's node which this machine is, or that of the default route.
func ownAddress(ctx context.Context, clients *target.Clients) (netip.Addr, error) {
	client, err := clients.For(target.RootSpace)
	if err != nil {
		return netip.Addr{}, err
	}
	at, err := client.LocalAddress(ctx)
	if err == nil && !at.IsLoopback() {
		return at, nil
	}
	own, wrong := net.InterfaceAddrs()
	addresses, failed := client.NodeAddresses(ctx)
	for _, node := range addresses {
		if slices.ContainsFunc(own, func(a net.Addr) bool {
			prefix, err := netip.ParsePrefix(a.String())
			return err == nil && prefix.Addr().Unmap() == node
		}) {
			return node, nil
		}
	}
	at, none := target.LocalAddressTo(ctx, somewhere)
	if none == nil && !at.IsLoopback() {
		return at, nil
	}
	return netip.Addr{}, errors.Join(err, wrong, failed, none, errors.New("this machine has no address but loopback ones"))
}

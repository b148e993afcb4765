package outbound

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
)

// rule applies to all addresses of a network. Of the rules that contain an address the longest
// network counts.
type rule struct {
	net netip.Prefix
	why string // why it is not dialled; "" allows
}

// Rules say what may be dialled. The zero value is not usable; New makes one.
type Rules struct {
	rules []rule // in the order of their weight where networks are equal: the later one counts
	// Log gets the reasons why webhooks were not reached, at debug level. Spaces do not learn them.
	// Nil discards.
	Log *slog.Logger
	// own are the addresses of this machine, which change.
	own func() ([]net.Addr, error)
}

// builtIn are the networks that are not public.
var builtIn = []struct{ nets, why string }{
	{"127.0.0.0/8 ::1/128", "loopback: the center's own machine"},
	{"0.0.0.0/8 ::/128", "unspecified: the center's own machine"},
	{"169.254.0.0/16 fe80::/10", "link-local: there clouds give a machine its credentials"},
	{"fd00:ec2::/32 fd20:ce::254/128 100.100.100.200/32 168.63.129.16/32", "there clouds give a machine its credentials"},
	{"224.0.0.0/4 ff00::/8 255.255.255.255/32", "multicast"},
	{
		"10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 fc00::/7 fec0::/10",
		"a private network: that of the center",
	},
	{"192.0.0.0/24 198.18.0.0/15 240.0.0.0/4 100::/64", "reserved: not a public address"},
	{
		"64:ff9b:1::/48 ::ffff:0:0:0/96 ::/96 2001::/32",
		"an IPv4 address in IPv6, which a gateway of the center's network may take out",
	},
}

// New returns the rules of an admin who allows and denies networks beyond the built-in ones. The
// longest network that contains an address counts. Among equal ones the admin's counts before a
// built-in one, and denied before allowed. So 0.0.0.0/0 allows no private network, but 10.1.0.0/16
// does.
func New(allow, deny []netip.Prefix) *Rules {
	r := &Rules{own: net.InterfaceAddrs}
	for _, b := range builtIn {
		for _, n := range strings.Fields(b.nets) {
			r.rules = append(r.rules, rule{netip.MustParsePrefix(n), b.why})
		}
	}
	for _, n := range allow {
		r.rules = append(r.rules, rule{n.Masked(), ""})
	}
	for _, n := range deny {
		r.rules = append(r.rules, rule{n.Masked(), "denied by --webhook-deny-cidr " + n.String()})
	}
	return r
}

// Parse reads networks: 10.1.0.0/16, or a single address.
func Parse(texts []string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	for _, t := range texts {
		p, err := netip.ParsePrefix(t)
		if a, err2 := netip.ParseAddr(t); err2 == nil && a.Zone() == "" {
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		if err != nil || p.Addr().Is4In6() {
			return nil, fmt.Errorf("%q is not a network; write one like 10.1.0.0/16 or fd00:1::/64", t)
		}
		out = append(out, p)
	}
	return out, nil
}

// Refused is the error for an address that is not dialled. Its text does not contain Why, which may
// reveal the center's own networks.
type Refused struct {
	Address netip.Addr
	Why     string
}

// Error implements error.
func (e *Refused) Error() string {
	return fmt.Sprintf(
		"the center does not connect to %s for a space; serve the webhook at a public address, or ask an admin "+
			"of the center to start it with --webhook-allow-cidr for the webhook's network",
		e.Address,
	)
}

// Check returns *Refused for an address that is not to be dialled.
func (r *Rules) Check(a netip.Addr) error {
	a = a.WithZone("").Unmap()
	for _, one := range append([]netip.Addr{a}, embedded(a)...) {
		if why := r.why(one); why != "" {
			return &Refused{a, why}
		}
	}
	return nil
}

// why returns why an address is not dialled, or "" if it may be. An address of this machine must be
// allowed by itself, loopback as a network.
func (r *Rules) why(a netip.Addr) string {
	longest, why := -1, ""
	for _, rule := range r.rules {
		if rule.net.Contains(a) && rule.net.Bits() >= longest {
			longest, why = rule.net.Bits(), rule.why
		}
	}
	if why == "" && longest < a.BitLen() && !a.IsLoopback() && r.isOwn(a) {
		return "the center's own machine"
	}
	return why
}

// isOwn reports whether an address belongs to this machine. If its addresses cannot be read every
// address counts as its own, so that nothing is dialled.
func (r *Rules) isOwn(a netip.Addr) bool {
	own, err := r.own()
	if err != nil {
		return true
	}
	for _, o := range own {
		if n, ok := o.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok && ip.Unmap() == a {
				return true
			}
		}
	}
	return false
}

// embedded are the IPv4 addresses that a gateway on the way makes of an IPv6 address: NAT64 and
// 6to4.
func embedded(a netip.Addr) []netip.Addr {
	b := a.As16()
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(a):
		return []netip.Addr{netip.AddrFrom4([4]byte(b[12:16]))}
	case netip.MustParsePrefix("2002::/16").Contains(a):
		return []netip.Addr{netip.AddrFrom4([4]byte(b[2:6]))}
	}
	return nil
}

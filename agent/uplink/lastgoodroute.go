package uplink

import (
	"encoding/json"
	"log/slog"
	"net"
	"slices"
	"time"
)

// Keep stores a small value durably; see bolt.File.
type Keep interface {
	Meta(name string) ([]byte, error)
	SetMeta(name string, value []byte) error
}

// memoryName is the value's name.
const memoryName = "uplink"

// maxNetworks bounds the networks that are stored; the oldest is dropped.
const maxNetworks = 16

// network is the good route in one network, by the prefix of this machine's own address there.
type network struct {
	Prefix string `json:"prefix"`
	Route  Route  `json:"way"`
	// RTT is the round trip at that time, in milliseconds.
	RTT int64 `json:"rtt,omitempty"`
}

// lastGoodRoutes has the route to the parent that was good the last time, for each network. It is
// written when that changes. Losing it costs a second.
type lastGoodRoutes struct {
	keep     Keep
	log      *slog.Logger
	networks []network // the newest first
}

func openLastGoodRoutes(keep Keep, log *slog.Logger) *lastGoodRoutes {
	m := &lastGoodRoutes{keep: keep, log: log}
	if keep == nil {
		return m
	}
	data, err := keep.Meta(memoryName)
	if err == nil && len(data) > 0 {
		err = json.Unmarshal(data, &m.networks)
	}
	if err != nil {
		m.networks = nil
		log.Debug("which way was good is not known", "err", err)
	}
	return m
}

// good returns the route that was good the last time in this network, and its round trip.
func (m *lastGoodRoutes) good(prefix string) (Route, time.Duration) {
	for _, n := range m.networks {
		if n.Prefix == prefix {
			return n.Route, time.Duration(n.RTT) * time.Millisecond
		}
	}
	return Route{}, 0
}

// addresses returns the addresses that a parent had when it was good, for when DNS does not answer.
func (m *lastGoodRoutes) addresses(parent string) (out []string) {
	for _, n := range m.networks {
		if n.Route.Parent == parent && n.Route.Address != parent && !slices.Contains(out, n.Route.Address) {
			out = append(out, n.Route.Address)
		}
	}
	return out
}

// record records a good route. A round trip that differs little is no change.
func (m *lastGoodRoutes) record(prefix string, w Route, rtt time.Duration) {
	known, before := m.good(prefix)
	if known == w && rtt < 2*before+100*time.Millisecond && before < 2*rtt+100*time.Millisecond {
		return
	}
	m.networks = slices.DeleteFunc(m.networks, func(n network) bool { return n.Prefix == prefix })
	m.networks = slices.Insert(m.networks, 0, network{prefix, w, rtt.Milliseconds()})
	m.networks = m.networks[:min(len(m.networks), maxNetworks)]
	if m.keep == nil {
		return
	}
	data, err := json.Marshal(m.networks)
	if err == nil {
		err = m.keep.SetMeta(memoryName, data)
	}
	if err != nil {
		m.log.Warn("which way to the parent is good cannot be kept", "err", err)
	}
}

// networkOf returns the prefix of this machine's own address on the route to an address: 24 bits of
// IPv4, 64 of IPv6. Nothing is sent.
func networkOf(address string) string {
	c, err := net.Dial("udp", address)
	if err != nil {
		return ""
	}
	defer c.Close()
	own, ok := c.LocalAddr().(*net.UDPAddr)
	if !ok {
		return ""
	}
	ip := own.AddrPort().Addr().Unmap()
	bits := 24
	if ip.Is6() {
		bits = 64
	}
	prefix, err := ip.WithZone("").Prefix(bits)
	if err != nil {
		return ""
	}
	return prefix.String()
}

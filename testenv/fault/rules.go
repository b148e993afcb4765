package fault

import (
	"fmt"
	"time"
)

// Direction says which packets of a host a rule is for.
type Direction string

// The directions, seen from the host.
const (
	Both Direction = "both"
	// Sent are the packets from the host: the fault is one-way.
	Sent Direction = "sent"
)

// Everyone is the host of a rule that is for every packet of the network, once.
const Everyone = "*"

// Rule is a fault of one host's packets.
type Rule struct {
	Host      string    `json:"host"`
	Direction Direction `json:"direction"`
	// Cut drops every packet, silently for both ends.
	Cut bool `json:"cut,omitempty"`
	// Delay is added one way; up to Jitter more at random, which reorders.
	Delay  time.Duration `json:"delay,omitempty"`
	Jitter time.Duration `json:"jitter,omitempty"`
	// Loss is the part of packets that is dropped at random, 0 to 1.
	Loss float64 `json:"loss,omitempty"`
	// MTU drops packets of more bytes than this without a word to their sender: a hole, as
	// misconfigured tunnels have it.
	MTU int `json:"mtu,omitempty"`
	// Rate is how many bits a second pass, each way apart.
	Rate int64 `json:"rate,omitempty"`
	// UDP makes the rule one for UDP only, as a firewall has it that does not know QUIC.
	UDP bool `json:"udp,omitempty"`
}

// Rules are the faults in force. A packet meets each rule that is for it:
// delays add up, and it must survive every loss.
type Rules []Rule

// Set adds a rule in the place of the one for the same packets that changes the
// same thing.
func (r Rules) Set(rule Rule) Rules {
	var kept Rules
	for _, have := range r {
		if have.Host != rule.Host || have.Direction != rule.Direction || have.kind() != rule.kind() {
			kept = append(kept, have)
		}
	}
	return append(kept, rule)
}

// Heal removes the rules of a host, or all rules for [Everyone].
func (r Rules) Heal(host string) Rules {
	kept := Rules{}
	for _, have := range r {
		if host != Everyone && have.Host != host {
			kept = append(kept, have)
		}
	}
	return kept
}

func (r Rule) kind() string {
	switch {
	case r.Cut && r.UDP:
		return "cut udp"
	case r.Cut:
		return "cut"
	case r.Loss > 0:
		return "loss"
	case r.MTU > 0:
		return "mtu"
	case r.Rate > 0:
		return "rate"
	}
	return "delay"
}

// String describes the rule in a few words.
func (r Rule) String() string {
	what := "cut"
	switch r.kind() {
	case "cut udp":
		what = "cut UDP"
	case "loss":
		what = fmt.Sprintf("loss %g%%", r.Loss*100)
	case "mtu":
		what = fmt.Sprintf("nothing above %d bytes", r.MTU)
	case "rate":
		what = fmt.Sprintf("%g Mbit/s", float64(r.Rate)/1e6)
	case "delay":
		what = fmt.Sprintf("delay %s", r.Delay)
		if r.Jitter > 0 {
			what += fmt.Sprintf(" + up to %s", r.Jitter)
		}
	}
	return fmt.Sprintf("%s (%s): %s", r.Host, r.Direction, what)
}

// protocolUDP is UDP's number in the head of an IP packet.
const protocolUDP = 17

// fate decides about a packet of a size and protocol between two hosts: how long it takes, or that
// it is lost. random returns numbers in [0, 1).
func (r Rules) fate(from, to string, size int, protocol byte, random func() float64) (delay time.Duration, lost bool) {
	for _, rule := range r {
		if !rule.matches(from, to) || rule.UDP && protocol != protocolUDP {
			continue
		}
		if rule.Cut || rule.Loss > 0 && random() < rule.Loss || rule.MTU > 0 && size > rule.MTU {
			return 0, true
		}
		delay += rule.Delay
		if rule.Jitter > 0 {
			delay += time.Duration(random() * float64(rule.Jitter))
		}
	}
	return delay, false
}

// rate is the least rate that a packet between two hosts meets, in bits a second; 0 where there is none.
func (r Rules) rate(from, to string) (least int64) {
	for _, rule := range r {
		if rule.Rate > 0 && rule.matches(from, to) && (least == 0 || rule.Rate < least) {
			least = rule.Rate
		}
	}
	return least
}

func (r Rule) matches(from, to string) bool {
	return r.Host == Everyone || r.Host == from || r.Host == to && r.Direction == Both
}

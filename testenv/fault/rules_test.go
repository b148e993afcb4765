package fault

import (
	"net/netip"
	"testing"
	"time"
)

func TestRate(t *testing.T) {
	rules := Rules{{Host: Everyone, Direction: Both, Rate: 8e6}, {Host: "a", Direction: Sent, Rate: 1e6}}
	for _, c := range []struct {
		from, to string
		want     int64
	}{{"a", "b", 1e6}, {"b", "a", 8e6}, {"b", "c", 8e6}} {
		if got := rules.rate(c.from, c.to); got != c.want {
			t.Errorf("from %s to %s: %d", c.from, c.to, got)
		}
	}
	if got := (Rules{{Host: "a", Direction: Both, Delay: 1}}).rate("a", "b"); got != 0 {
		t.Errorf("without a rate: %d", got)
	}
}

// Packets of one way follow each other at the rate; what would wait for too long is lost.
func TestPaced(t *testing.T) {
	l, now := newLink(nil, nil), time.Unix(1000, 0)
	for i, want := range []time.Duration{time.Millisecond, 2 * time.Millisecond} {
		if after, lost := l.paced("a", "b", 1000, 8e6, now); lost || after != want {
			t.Errorf("packet %d: after %s, lost %v", i, after, lost)
		}
	}
	if after, lost := l.paced("b", "a", 1000, 8e6, now); lost || after != time.Millisecond {
		t.Errorf("the other way: after %s, lost %v", after, lost)
	}
	lost, n := false, 0
	for ; !lost && n < 1000; n++ {
		_, lost = l.paced("a", "b", 1000, 8e6, now)
	}
	if want := int(maxQueue/time.Millisecond) - 1; n != want {
		t.Errorf("packet %d is lost, not %d", n, want)
	}
	if after, lost := l.paced("a", "b", 1000, 8e6, now.Add(time.Hour)); lost || after != time.Millisecond {
		t.Errorf("an hour later: after %s, lost %v", after, lost)
	}
}

func TestFate(t *testing.T) {
	half := func() float64 { return 0.5 }
	for _, test := range []struct {
		name     string
		rules    Rules
		from, to string
		delay    time.Duration
		lost     bool
	}{
		{"no rules", nil, "a", "b", 0, false},
		{"everyone's delay counts once", Rules{{Host: Everyone, Direction: Both, Delay: 5}}, "a", "b", 5, false},
		{"both ends' delays add up", Rules{{Host: "a", Direction: Both, Delay: 5},
			{Host: "b", Direction: Both, Delay: 7}}, "a", "b", 12, false},
		{"one way: what it sends", Rules{{Host: "a", Direction: Sent, Delay: 5}}, "a", "b", 5, false},
		{"one way: not what it gets", Rules{{Host: "a", Direction: Sent, Delay: 5}}, "b", "a", 0, false},
		{"another host's", Rules{{Host: "c", Direction: Both, Cut: true}}, "a", "b", 0, false},
		{"cut", Rules{{Host: "b", Direction: Both, Cut: true}}, "a", "b", 0, true},
		{"cut one way", Rules{{Host: "b", Direction: Sent, Cut: true}}, "a", "b", 0, false},
		{"lost", Rules{{Host: Everyone, Direction: Both, Loss: 0.6}}, "a", "b", 0, true},
		{"not lost", Rules{{Host: Everyone, Direction: Both, Loss: 0.4}}, "a", "b", 0, false},
		{"too large", Rules{{Host: "b", Direction: Both, MTU: 999}}, "a", "b", 0, true},
		{"just not too large", Rules{{Host: "b", Direction: Both, MTU: 1000}}, "a", "b", 0, false},
		{"UDP is cut", Rules{{Host: "b", Direction: Both, Cut: true, UDP: true}}, "a", "b", 0, true},
		{"jitter", Rules{{Host: Everyone, Direction: Both, Delay: 10, Jitter: 4}}, "a", "b", 12, false},
	} {
		delay, lost := test.rules.fate(test.from, test.to, 1000, protocolUDP, half)
		if delay != test.delay || lost != test.lost {
			t.Errorf("%s: got %d, %v", test.name, delay, lost)
		}
	}
}

func TestTCPPassesWhereUDPIsCut(t *testing.T) {
	rules := Rules{}.Set(Rule{Host: Everyone, Direction: Both, Cut: true, UDP: true})
	if _, lost := rules.fate("a", "b", 100, 6, func() float64 { return 0.5 }); lost {
		t.Error("TCP is lost")
	}
	if both := rules.Set(Rule{Host: Everyone, Direction: Both, Cut: true}); len(both) != 2 {
		t.Errorf("a cut of everything takes the place of one of UDP: %v", both)
	}
}

func TestSetReplacesOnlyItsOwnKind(t *testing.T) {
	rules := Rules{}.
		Set(Rule{Host: "a", Direction: Both, Delay: 5}).
		Set(Rule{Host: "a", Direction: Both, Loss: 0.1}).
		Set(Rule{Host: "b", Direction: Both, Delay: 5}).
		Set(Rule{Host: "a", Direction: Sent, Delay: 6}).
		Set(Rule{Host: "a", Direction: Both, Delay: 9})
	if len(rules) != 4 {
		t.Fatalf("got %v", rules)
	}
	if delay, _ := rules.fate("b", "a", 1000, protocolUDP, func() float64 { return 0.9 }); delay != 14 {
		t.Errorf("delay is %d, want 9 of a and 5 of b", delay)
	}
	if left := rules.Heal("a"); len(left) != 1 || left[0].Host != "b" {
		t.Errorf("after healing a: %v", left)
	}
	if left := rules.Heal(Everyone); len(left) != 0 {
		t.Errorf("after healing everyone: %v", left)
	}
}

func TestFlightKeepsTheOrderOfEqualDelays(t *testing.T) {
	var f flight
	now := time.Now()
	if !f.add([]byte("b1"), now.Add(2)) || f.add([]byte("b2"), now.Add(2)) || !f.add([]byte("a"), now.Add(1)) {
		t.Error("add does not say which packet is next")
	}
	if packet, wait := f.next(now); packet != nil || wait != 1 {
		t.Errorf("before it is due: %q, wait %d", packet, wait)
	}
	for _, want := range []string{"a", "b1", "b2"} {
		if packet, _ := f.next(now.Add(2)); string(packet) != want {
			t.Errorf("got %q, want %q", packet, want)
		}
	}
	if packet, wait := f.next(now); packet != nil || wait < time.Minute || f.bytes != 0 {
		t.Errorf("empty: %q, wait %s, %d bytes", packet, wait, f.bytes)
	}
}

func TestEnds(t *testing.T) {
	l := newLink(nil, map[netip.Addr]string{netip.MustParseAddr("10.203.1.2"): "a",
		netip.MustParseAddr("10.203.2.2"): "b"})
	header := make([]byte, 20)
	header[0] = 0x45
	copy(header[12:], []byte{10, 203, 1, 2})
	copy(header[16:], []byte{10, 203, 2, 2})
	from, to, err := l.ends(header)
	if from != "a" || to != "b" || err != nil {
		t.Errorf("got %q, %q, %v", from, to, err)
	}
	header[0] = 0x60
	if _, _, err := l.ends(header); err == nil {
		t.Error("an IPv6 packet: want an error")
	}
	if _, _, err := l.ends(header[:10]); err == nil {
		t.Error("a short packet: want an error")
	}
}

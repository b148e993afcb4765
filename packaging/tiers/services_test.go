package tiers

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel/exchange"
)

// A Pod reaches the Service of its space wherever that is, by the shortest way: what is below one relay stays there.
// Nobody is asked twice.
func TestAnyToAny(t *testing.T) {
	for _, c := range []struct{ from, at, way string }{
		{"oslo", "direct", "nordic^top top>direct"},
		{"bergen", "direct", "nordic>oslo nordic^top top>direct"},
		{"direct", "oslo", "top>nordic nordic>oslo"},
		{"bergen", "oslo", "nordic>oslo"},
		{"oslo", "bergen", "nordic>bergen"},
		{"oslo", "rome", "nordic^top top>south south>rome"},
		{"rome", "bergen", "south^top top>nordic nordic>bergen"},
		{"edge", "direct", "deep^nordic nordic>oslo nordic^top top>direct"},
		{"direct", "edge", "top>nordic nordic>deep deep>edge"},
		{"edge", "oslo", "deep^nordic nordic>oslo"},
		{"oslo", "edge", "nordic>deep deep>edge"},
		{"edge", "rome", "deep^nordic nordic>oslo nordic^top top>south south>rome"},
		{"rome", "edge", "south^top top>nordic nordic>deep deep>edge"},
	} {
		t.Run(c.from+" to "+c.at, func(t *testing.T) {
			f := newFleet(t)
			f[c.at].runs(t, f[c.at].greets)
			text := strings.Repeat("hello ", 50_000)
			got, err := f[c.from].ask(t, text)
			if err != nil || got != c.at+": "+text {
				t.Errorf("%d bytes %.40q: %v", len(got), got, err)
			}
			if way := joined(f["top"].log.take()); way != c.way {
				t.Errorf("asked %s, want %s", way, c.way)
			}
		})
	}
}

// A Service that answers nowhere is asked for once at each place, and the caller hears what each of them has said.
func TestNobodyAnswers(t *testing.T) {
	for _, c := range []struct{ from, at, way string }{
		{"bergen", "nordic", "nordic>oslo nordic^top"},
		{"direct", "nordic", "top>nordic nordic>oslo"},
		{"rome", "nordic", "south^top top>nordic nordic>oslo"},
		{"edge", "south", "deep^nordic nordic>oslo nordic^top top>south south>rome"},
	} {
		t.Run(c.from, func(t *testing.T) {
			f := newFleet(t)
			f["top"].on = []string{c.at}
			_, err := f[c.from].dial(t)
			if exchange.FaultOf(err).Code != http.StatusServiceUnavailable || !strings.Contains(err.Error(), "none of its pods is ready here") {
				t.Errorf("refused with %v", err)
			}
			if way := joined(f["top"].log.take()); way != c.way {
				t.Errorf("asked %s, want %s", way, c.way)
			}
			if reason := exchange.FaultOf(err).Reason; reason != "ServiceUnavailable" {
				t.Errorf("refused for %s", reason)
			}
			for _, knows := range []string{"top", "nordic"} { // both are on all ways
				f := newFleet(t)
				f["top"].on, f[knows].moves = []string{c.at}, true
				_, err := f[c.from].dial(t)
				if reason := exchange.FaultOf(err).Reason; reason != exchange.Moving {
					t.Errorf("it moves at %s, and is refused for %s: %v", knows, reason, err)
				}
			}
		})
	}
}

// Each tier compares the whole of who a space is: a call of another space, or of one that was made again, gets nowhere.
func TestAnotherSpace(t *testing.T) {
	f := newFleet(t)
	f["direct"].runs(t, f["direct"].greets)
	f["top"].on = []string{"direct", "nordic"}
	refused := func(what string, from *tier, space, uid, says string) {
		t.Helper()
		conn, err := from.dialAs(t, space, uid)
		if err == nil {
			conn.Close()
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", what, err)
		}
	}
	unnamed := "target bergen has no Service app/web of space "
	refused("another space", f["bergen"], "team", "nordic-web", unnamed+"team")
	refused("another Service", f["bergen"], space, "nordic-other", unnamed+"shop")
	refused("the parent's UID of it", f["bergen"], space, "top-web", unnamed+"shop")
	if way := joined(f["top"].log.take()); way != "" {
		t.Errorf("asked %s", way)
	}
	// The relay has not even the name any more: its parent knows better than it does.
	f["top"].named, f["top"].on = []string{"direct"}, []string{"direct"}
	refused("no name at the relay", f["bergen"], space, "nordic-web", "target nordic has no Service app/web")
	// The space at the top is another one than the relay has something of, and then that of the relay for its site.
	f["oslo"].runs(t, f["oslo"].greets)
	again := "the site has no services app/web of space shop"
	f["top"].named, f["top"].spaceUID = []string{"direct", "nordic"}, "s-again"
	refused("a space that was made again", f["direct"], space, "top-web", again)
	f["top"].spaceUID, f["nordic"].spaceUID = "s-top", "s-again"
	refused("a space that was made again at the relay", f["direct"], space, "top-web", again)
}

// A relay that dies ends what passes through it, at both ends.
func TestARelayDies(t *testing.T) {
	f := newFleet(t)
	ended := make(chan struct{})
	f["edge"].runs(t, func(conn net.Conn) {
		f["edge"].greets(conn)
		close(ended)
	})
	conn, err := f["direct"].dial(t)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.ReadFull(conn, make([]byte, len("edge: "))); err != nil {
		t.Fatal(err)
	}
	f["nordic"].down["deep"].Close(nil)
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the caller reads on")
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the Pod is still connected")
	}
}

// A caller who does not read stops whoever sends to it, at no more than the windows and buffers on the way. All
// others go on.
func TestASlowReader(t *testing.T) {
	f := newFleet(t)
	var sent atomic.Int64
	var slow atomic.Bool
	slow.Store(true)
	f["edge"].runs(t, func(conn net.Conn) {
		if !slow.Load() {
			f["edge"].greets(conn)
			return
		}
		for block := make([]byte, 32<<10); ; {
			n, err := conn.Write(block)
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	})
	conn, err := f["rome"].dial(t)
	if err != nil {
		t.Fatal(err)
	}
	before, still := int64(-1), 0
	storetest.Eventually(t, "nothing more is sent", func() bool {
		now := sent.Load()
		if still++; now != before || now == 0 {
			before, still = now, 0
		}
		return still > 20
	})
	// Six streams of 64 KiB and their copies in between, and the two sockets of the Pod's connection.
	t.Logf("%s were taken", wrote(before))
	if most := int64(16 << 20); before > most {
		t.Errorf("%s were taken of the Pod, at most %s", wrote(before), wrote(most))
	}
	slow.Store(false)
	if got, err := f["direct"].ask(t, "hello"); err != nil || got != "edge: hello" {
		t.Errorf("another caller: %q, %v", got, err)
	}
	conn.Close()
}

// A space has its share at each tier, and leaves the rest to others.
func TestTheShareOfASpace(t *testing.T) {
	f := newFleet(t)
	f["edge"].runs(t, f["edge"].greets)
	var open []io.Closer
	defer func() {
		for _, conn := range open {
			conn.Close()
		}
	}()
	from := []*tier{f["rome"], f["direct"]}
	for i := range exchange.MostServicesOfSpace {
		conn, err := from[i%len(from)].dial(t)
		if err != nil {
			t.Fatalf("after %d: %v", i, err)
		}
		open = append(open, conn)
	}
	for _, c := range from {
		if _, err := c.dial(t); err == nil || !strings.Contains(err.Error(), "768 connections to Services from other sites of space shop are open") {
			t.Errorf("one more of %s: %v", c.name, err)
		}
	}
	open[0].Close()
	storetest.Eventually(t, "one may follow", func() bool {
		conn, err := f["rome"].dial(t)
		if err == nil {
			open[0] = conn
		}
		return err == nil
	})
}

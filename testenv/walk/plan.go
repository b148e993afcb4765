package walk

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// cycle is what happens between two moments of rest.
type cycle struct {
	number int
	window time.Duration
	writes []write
	faults []fault
}

// write is one change of the space, at a time after the start of the cycle.
type write struct {
	at     time.Duration
	object int // index in the model; -1 for a namespace
	do     action
	site   string
	space  string // the namespace that moves
}

type action string

// What a writer does. change also makes an object that does not exist.
const (
	change action = "change"
	remove action = "delete"
	pin    action = "pin to"
	unpin  action = "unpin"
	spread action = "spread over all"
	gather action = "no longer spread"
	move   action = "move namespace to"
)

// fault is something that goes wrong, and the time after which it is mended.
type fault struct {
	at, until time.Duration
	kind      kind
	site      string // none for the center
}

type kind string

// The kinds of faults. A cut is silent; of a link that is down the site's programs are told.
const (
	cutSilent   kind = "cut"
	cutLink     kind = "link down"
	killAgent   kind = "kill -9 agent"
	killCenter  kind = "kill -9 center"
	noPartition      = ""
	anyKind     kind = ""
)

func (k kind) partition() bool { return k == cutSilent || k == cutLink }

func (f fault) String() string {
	if f.site == noPartition {
		return fmt.Sprintf("%s, mended %s later", f.kind, (f.until - f.at).Round(time.Millisecond))
	}
	return fmt.Sprintf("%s at %s, mended %s later", f.kind, f.site, (f.until - f.at).Round(time.Millisecond))
}

// planner makes cycles from a seed.
type planner struct {
	random   *rand.Rand
	sites    []string
	spaces   []string
	from, to int // the objects that change
	number   int
	// left are the faults still to come.
	partitions, kills int
}

// next plans a cycle of one to three faults, each at a site of its own, and up to 300 writes around
// them.
func (p *planner) next() cycle {
	p.number++
	c := cycle{number: p.number, window: p.length()}
	places := append(append([]string(nil), p.sites...), noPartition)
	p.random.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	for _, at := range places[:1+p.random.IntN(3)] {
		if f, ok := p.fault(at, c.window); ok {
			c.faults = append(c.faults, f)
		}
	}
	n := 20 + p.random.IntN(280)
	for i := range n {
		w := p.write()
		w.at = c.window * time.Duration(i) / time.Duration(n)
		c.writes = append(c.writes, w)
	}
	return c
}

// length is mostly around a second; some cycles outlive a session's patience.
func (p *planner) length() time.Duration {
	switch r := p.random.Float64(); {
	case r < 0.01:
		return 80 * time.Second
	case r < 0.06:
		return 15 * time.Second
	}
	return 300*time.Millisecond + time.Duration(p.random.Int64N(int64(1700*time.Millisecond)))
}

// fault plans what is still to come. One that lasts to the end of the window is mended when the
// writers have stopped.
func (p *planner) fault(site string, window time.Duration) (fault, bool) {
	f := fault{site: site, at: time.Duration(p.random.Int64N(int64(window)))}
	f.until = f.at + time.Duration(p.random.Int64N(int64(window)))
	kinds := []kind{cutSilent, cutLink, killAgent}
	if site == noPartition {
		kinds = []kind{killCenter}
	}
	f.kind = kinds[p.random.IntN(len(kinds))]
	left := &p.kills
	if f.kind.partition() {
		left = &p.partitions
	}
	if *left == 0 {
		return f, false
	}
	*left--
	return f, true
}

func (p *planner) write() write {
	w := write{object: p.from + p.random.IntN(p.to-p.from), site: p.sites[p.random.IntN(len(p.sites))]}
	switch r := p.random.IntN(100); {
	case r < 72:
		w.do = change
	case r < 86:
		w.do = remove
	case r < 90:
		w.do = pin
	case r < 93:
		w.do = unpin
	case r < 96:
		w.do = spread
	case r < 99:
		w.do = gather
	default:
		w.do, w.object, w.space = move, -1, p.spaces[p.random.IntN(len(p.spaces))]
	}
	return w
}

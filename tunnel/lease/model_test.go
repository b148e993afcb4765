package lease

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// The model: a center, perhaps a relay, and two sites, in simulated time, each machine with a clock
// of its own. One workload must not run twice. The center has it on one site, and moves it to the
// other one when that is away. Site 0 is below the relay where there is one. What happens is random:
// cuts, restarts, reboots, suspended machines, leaders that change, messages that come late, terms
// that change. After each step at most one site runs the workload.

const (
	tick  = 500 * time.Millisecond
	evict = 8 * time.Second // after which the center begins to move
	relay = 2               // the index of the relay among the nodes
	root  = 3               // the parent of all that is not below the relay
)

// bugs are mutations that the invariant has to find.
type bugs struct {
	Monotonic, Receipt, NoGrace, NoDrift, Generous, OldTime, ForgetsReboot, Hasty, Unrecorded, Unconfirmed bool
}

// clock is a machine's. It has started at boot, in true time, and slept for so long since.
type clock struct {
	rate        float64
	boot, slept time.Duration
	id          int
}

// node is a machine with an agent, or the agent's half of a relay, and its parent's half.
type node struct {
	name   string
	clock  clock
	parent int
	// The child's half.
	holder      *Holder
	disk        State
	next        time.Duration // when it asks, in true time
	refuses     bool
	epoch       int // of the feed that it has
	placed      bool
	running     bool
	gone        time.Duration // when what stops has stopped; 0 while nothing stops
	woken       bool          // what runs had begun before the machine slept
	asleepUntil time.Duration
	offUntil    time.Duration
	// The link to the parent.
	up       bool
	upSince  time.Duration // when it was cut or healed
	session  int           // from 1
	started  int           // the session that the child has begun
	messages []message
	// The parent's half.
	begun    time.Duration
	ledger   *Ledger
	granters map[string]*Granter
}

type message struct {
	due     time.Duration
	session int
	ask     *Request
	answer  *Answer
}

// feed is what a parent has for a child.
type feed struct {
	epoch  int
	placed bool
}

type world struct {
	r        *rand.Rand
	bugs     bugs
	slow     time.Duration
	now      time.Duration
	nodes    [4]*node
	feeds    [2]feed
	want     Terms
	recorded [3]Record  // of the nodes, at their parents
	writes   [3]*Record // that have begun
	grace    time.Duration
	home     int // -1: between two
	left     int
	moves    int
	log      []string
	fatal    func(string)
	broken   bool
}

func (w *world) note(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%8.1f ", w.now.Seconds())+fmt.Sprintf(format, args...))
	w.log = w.log[max(0, len(w.log)-120):]
}

// newWorld returns a world in which slow times as little happens as in another, with leases that last
// as much longer.
func newWorld(t *testing.T, seed uint64, b bugs, slow time.Duration) *world {
	w := &world{fatal: func(why string) { t.Fatalf("seed %d: %s", seed, why) }, r: rand.New(rand.NewPCG(seed, 7)), bugs: b, slow: slow, home: 0, left: -1}
	w.want = Terms{Duration: slow * 30 * time.Second, Stop: true}
	w.grace = time.Duration(w.r.IntN(20)) * time.Second
	for i := range w.nodes {
		w.nodes[i] = &node{name: []string{"a", "b", "relay", "center"}[i], parent: root, up: true, session: 1,
			granters: map[string]*Granter{}, ledger: NewLedger(0)}
		w.nodes[i].clock = clock{rate: 0.995 + 0.01*w.r.Float64(), id: 1 + i}
		w.load(w.nodes[i])
	}
	if w.r.IntN(2) == 0 {
		w.nodes[0].parent = relay
	}
	w.feeds[0] = feed{1, true}
	return w
}

// boottime is what a machine's clock says.
func (w *world) boottime(n *node) time.Duration {
	return time.Duration(float64(w.now-n.clock.boot) * n.clock.rate)
}

// edge is the clock that a child counts by.
func (w *world) edge(n *node) time.Duration {
	if w.bugs.Monotonic {
		return time.Duration(float64(w.now-n.clock.boot-n.clock.slept) * n.clock.rate)
	}
	return w.boottime(n)
}

func (w *world) load(n *node) {
	id := fmt.Sprint(n.clock.id)
	if w.bugs.ForgetsReboot && n.disk.Boot != id {
		n.disk = State{}
	}
	n.holder = Load(n.disk, id)
}

func (w *world) alive(n *node) bool { return w.now >= n.asleepUntil && w.now >= n.offUntil }

func (w *world) chance(mean time.Duration) bool { return w.r.Int64N(int64(mean/tick)) == 0 }

// seldom is chance for what happens as much less in a slow world.
func (w *world) seldom(mean time.Duration) bool { return w.chance(w.slow * mean) }

func (w *world) upTo(d time.Duration) time.Duration { return time.Duration(w.r.Int64N(int64(d))) }

func (w *world) step() {
	w.now += tick
	w.happen()
	for i := range 3 {
		if i == relay && w.nodes[0].parent != relay {
			continue
		}
		w.store(i)
		w.deliver(w.nodes[i], i)
		w.child(w.nodes[i], i)
	}
	w.decide()
	w.check()
}

// happen lets something happen.
func (w *world) happen() {
	for i, n := range w.nodes[:3] {
		switch {
		case w.seldom(40 * time.Second):
			n.up, n.upSince = !n.up, w.now
			w.note("link of %s up %v", n.name, n.up)
		case n.up && w.seldom(60*time.Second):
			n.session++ // it dials anew
		case w.seldom(90 * time.Second):
			w.note("agent of %s restarts", n.name)
			n.session++
			w.load(n)
		case w.alive(n) && w.seldom(150*time.Second):
			off := w.upTo(w.slow * 80 * time.Second)
			w.note("%s reboots, off for %v", n.name, off)
			n.offUntil, n.running, n.gone = w.now+off, false, 0
			n.clock = clock{rate: n.clock.rate, boot: w.now, id: n.clock.id + 10}
			n.session++
			w.load(n)
		case i != relay && w.alive(n) && w.seldom(150*time.Second):
			nap := w.upTo(w.slow * 80 * time.Second)
			w.note("%s sleeps for %v", n.name, nap)
			n.asleepUntil, n.clock.slept = w.now+nap, n.clock.slept+nap
			n.woken = n.running
		case w.seldom(400 * time.Second):
			if i != relay {
				n.refuses = !n.refuses
			}
		}
	}
	if w.seldom(100 * time.Second) {
		w.note("another leader")
		w.lead(w.nodes[root])
		for i := range 3 {
			if w.nodes[i].parent == root {
				w.nodes[i].session++
				w.writes[i] = nil // fenced
			}
		}
	}
	if w.seldom(150 * time.Second) {
		w.want = []Terms{{}, {Duration: 30 * time.Second, Stop: true}, {Duration: 30 * time.Second, Stop: true},
			{Duration: 90 * time.Second, Stop: true}, {Duration: 30 * time.Second}}[w.r.IntN(5)]
		w.want.Duration *= w.slow
		w.note("terms %v", w.want)
	}
}

// lead has another process be the parent.
func (w *world) lead(p *node) {
	before := p.begun
	if p.begun = w.boottime(p); w.bugs.OldTime {
		p.begun = before
	}
	p.ledger, p.granters = NewLedger(p.begun), map[string]*Granter{}
}

// store ends a write of what is recorded.
func (w *world) store(i int) {
	if r := w.writes[i]; r != nil && w.chance(6*time.Second) {
		w.recorded[i], w.writes[i] = *r, nil
	}
}

// deliver hands over what is due, if the link is up. What belongs to an older session is dropped.
func (w *world) deliver(n *node, i int) {
	p := w.nodes[n.parent]
	if n.up && w.alive(n) && w.alive(p) && w.chance(time.Second) { // the feed
		n.epoch, n.placed = w.feedOf(n, i)
	}
	var rest []message
	list := n.messages
	n.messages = nil
	for _, m := range list {
		to := n
		if m.ask != nil {
			to = p
		}
		switch {
		case m.session != n.session:
		case !n.up || m.due > w.now || !w.alive(to):
			rest = append(rest, m)
		case m.ask != nil:
			w.answer(p, n, i, m)
		default:
			if w.bugs.Receipt {
				n.holder.sent[m.answer.N] = w.edge(n)
			}
			n.holder.Answered(w.edge(n), *m.answer)
			n.disk = n.holder.State()
			if n.disk.Terms != (Terms{}) && w.r.IntN(2) == 0 {
				n.next = w.now
			}
		}
	}
	n.messages = append(n.messages, rest...)
}

// feedOf is what the parent of a node has for it. A relay hands on what it has.
func (w *world) feedOf(n *node, i int) (epoch int, placed bool) {
	if n.parent == relay {
		return w.nodes[relay].epoch, w.nodes[relay].placed
	}
	if i == relay {
		i = 0
	}
	return w.feeds[i].epoch, w.feeds[i].placed
}

func (w *world) answer(p, n *node, i int, m message) {
	g := p.granters[n.name]
	if g == nil {
		g = &Granter{}
		p.granters[n.name] = g
	}
	if m.ask.N == 1 {
		g.Begin()
	}
	want, own := w.want, Own{}
	if n.parent == relay {
		want, own = Terms{}, p.holder.State().Own(w.edge(p))
		if p.refuses = m.ask.Refuses; w.bugs.Generous {
			own.Left = own.Terms.Duration
		}
	}
	recorded := w.recorded[i]
	if w.bugs.Unrecorded {
		recorded = Terms{Duration: 24 * time.Hour}
	}
	a := g.Answer(*m.ask, want, recorded, own)
	epoch, _ := w.feedOf(n, i)
	a.Behind = n.epoch != epoch && !w.bugs.Hasty
	if n.parent == relay && p.holder.Ended(w.edge(p)) {
		a.Behind = true
	}
	if next := g.Record(*m.ask, want, w.recorded[i], own); next != w.recorded[i] {
		w.writes[i] = &next
	} else {
		w.writes[i] = nil
	}
	if a.For > 0 {
		p.ledger.Answered(n.name, w.boottime(p))
	}
	late := w.upTo(2 * time.Second)
	if w.r.IntN(10) == 0 {
		late = w.upTo(40 * time.Second)
	}
	n.messages = append(n.messages, message{due: w.now + late, session: m.session, answer: &a})
}

// child is what an agent does by itself.
func (w *world) child(n *node, i int) {
	if !w.alive(n) {
		return
	}
	now := w.edge(n)
	n.holder.Check(now)
	n.disk = n.holder.State()
	if n.started != n.session && n.up {
		n.holder.Begin()
		n.started, n.next = n.session, w.now
	}
	if w.now >= n.next && n.up && n.started == n.session {
		r := n.holder.Request(now, n.refuses)
		if i == relay {
			r.Pending = !w.recorded[0].Fences() || w.recorded[0].Duration > n.holder.State().Terms.Duration
		}
		late := w.upTo(2 * time.Second)
		n.messages = append(n.messages, message{due: w.now + late, session: n.session, ask: &r})
		n.next = w.now + max(n.holder.State().Terms.Renewal(), 2*time.Second)
	}
	if i == relay {
		return
	}
	may := n.placed && !n.holder.Ended(now)
	switch {
	case n.running && !may && n.gone == 0:
		w.note("%s stops", n.name)
		n.gone = w.now + w.upTo(w.grace+1)
	case n.running && n.gone != 0 && w.now >= n.gone:
		n.running, n.gone, n.woken = false, 0, false
	case !n.running && may:
		w.note("%s runs", n.name)
		n.running, n.gone, n.woken = true, 0, false
	}
	if n.gone == 0 && may {
		n.woken = false
	}
}

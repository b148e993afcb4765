package lease

import (
	"strings"
)

// decide is the center's part.
func (w *world) decide() {
	c := w.nodes[root]
	ask := func(i int) (away, certain bool) {
		n, child := w.nodes[i], i
		if n.parent == relay {
			n, child = w.nodes[relay], relay
		}
		away = !n.up && w.now-n.upSince > evict || !w.alive(n)
		recorded := w.recorded[child]
		if w.bugs.Unconfirmed {
			recorded.Stop = recorded.Duration > 0
		}
		if !recorded.Fences() {
			return away, false
		}
		grace, duration := w.grace, recorded
		if w.bugs.NoGrace {
			grace = 0
		}
		ends := c.ledger.Ends(n.name, duration, grace)
		if w.bugs.NoDrift {
			ends -= recorded.Duration*Drift/100 + Slack
		}
		return away, w.boottime(c) >= ends
	}
	fences := func(i int) bool {
		if w.nodes[i].parent == relay {
			i = relay
		}
		return w.recorded[i].Fences() || w.bugs.Unconfirmed
	}
	switch {
	case w.home >= 0:
		if away, _ := ask(w.home); away && fences(w.home) {
			w.note("center: leaves %s", w.nodes[w.home].name)
			w.feeds[w.home] = feed{w.feeds[w.home].epoch + 1, false}
			w.left, w.home = w.home, -1
		}
	default:
		n := w.nodes[w.left]
		_, certain := ask(w.left)
		said := n.up && w.alive(n) && n.epoch == w.feeds[w.left].epoch && !n.running &&
			(n.parent == root || w.nodes[relay].up && w.alive(w.nodes[relay]))
		if said || certain {
			to := 1 - w.left
			w.note("center: to %s, said %v", w.nodes[to].name, said)
			w.feeds[to] = feed{w.feeds[to].epoch + 1, true}
			w.home, w.left = to, -1
			w.moves++
		}
	}
}

// check is the invariant. What a machine ran when it fell asleep runs for the moment until its agent
// has looked at the clock, which no lease can prevent.
func (w *world) check() {
	runs := 0
	for _, n := range w.nodes[:2] {
		if n.running && w.alive(n) && !n.woken {
			runs++
		}
	}
	if runs > 1 {
		w.fatal("two copies run:\n" + strings.Join(w.log, "\n"))
	}
}

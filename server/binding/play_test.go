package binding_test

import (
	"fmt"
	"slices"

	. "skerry.dev/skerry/server/binding"
)

// play plays a history to its end, and lets all come to rest. It returns what broke.
func play(h history, tale func(string, ...any)) *broken {
	if tale == nil {
		tale = func(string, ...any) {}
	}
	return broke(tale, func(w *world) {
		for _, s := range h {
			w.step(s)
		}
	})
}

// broke does something in a new world, and lets all come to rest. It returns what broke.
func broke(tale func(string, ...any), do func(*world)) (b *broken) {
	defer func() {
		switch what := recover().(type) {
		case nil:
		case broken:
			b = &what
		default:
			panic(what)
		}
	}()
	w := newWorld(tale)
	do(w)
	w.settle()
	return nil
}

func newWorld(tale func(string, ...any)) *world {
	w := &world{now: 1000, sites: map[TargetID]*site{}, tale: tale, serial: 0}
	w.check = &checker{w: w, x: NewIndex(), stays: map[stay]int64{}}
	w.log = []event{{state: &state{rev: 1}}}
	for i := range slots {
		w.join(i)
	}
	w.user(func(s *state) { s.ns = bookRow{uid: UnitID(w.uid("n")), wish: wish{kind: byName, names: 1}} })
	w.lead(nil)
	return w
}

// join makes a SyncTarget, and a cluster for it.
func (w *world) join(slot int) {
	if w.ids++; w.ids >= mostIDs {
		return
	}
	id := w.ids
	w.user(func(s *state) { s.targets[slot] = targetRow{id: id} })
	w.sites[id] = &site{id: id, slot: slot}
}

// step makes one step. Its low bits say which, the others what about.
func (w *world) step(n uint32) {
	what, arg := n%100, int(n/100)
	i := arg % things
	switch {
	case what < 26:
		w.decide(arg)
	case what < 38:
		if s := w.site(arg); s != nil {
			s.sync(w.leader)
		}
	case what < 50:
		if s := w.site(arg); s != nil {
			w.act(s, arg/8%things)
		}
	case what < 57:
		if s := w.site(arg); s != nil {
			s.tell()
		}
	case what < 66:
		if s := w.site(arg); s != nil {
			w.hear(s)
		}
	case what < 70:
		w.leader.catchUp(1 + arg%6)
	case what < 74:
		w.tick([]int64{60, 250, 700}[arg%3])
	case what < 76:
		w.round()
		for range arg % 4 { // and time passes, in which nobody changes anything
			w.tick(400)
			w.round()
		}
	case what < 78:
		w.trouble(arg)
	case what < 80:
		w.target(arg)
	case what < 89:
		w.wish(arg, i)
	case what < 93:
		w.object(arg, i)
	case what < 95:
		w.restart(arg)
	case what < 98:
		w.landLate(arg)
	default:
		w.finishJob(arg, i)
	}
}

// site picks the cluster of a target, nil where none is.
func (w *world) site(arg int) *site { return w.sites[w.head().targets[arg%slots].id] }

// round does what usually happens, in the usual order.
func (w *world) round() {
	for range 3 {
		for range 4 {
			w.endHook(0, false)
		}
		w.goOn(4, -1)
		l := w.leader
		for id := TargetID(1); id <= w.ids; id++ {
			if s := w.sites[id]; s != nil {
				s.sync(l)
				for range 2 {
					for i := range things {
						w.act(s, i)
					}
				}
				s.tell()
				for len(s.queue) > 0 && !s.cut {
					w.hear(s)
				}
			}
		}
	}
}

func (w *world) tick(seconds int64) {
	w.now += seconds
	w.flying = slices.DeleteFunc(w.flying, func(a *attempt) bool { return a.expires <= w.now })
	for _, s := range w.sites {
		w.expire(s)
	}
}

// trouble makes a site bad, or cuts it off, or ends that.
func (w *world) trouble(arg int) {
	s := w.site(arg)
	if s == nil {
		return
	}
	switch arg / 8 % 4 {
	case 0:
		s.bad = !s.bad
	case 1:
		s.bad = true
		for i := range s.has {
			s.has[i].ready = false
		}
	case 2:
		if s.cut {
			s.cut = false
		} else {
			s.lose(w.now)
		}
	case 3:
		s.queue = nil
	}
	w.tale("site %d: bad %v cut %v", s.id, s.bad, s.cut)
}

// target is an admin's write about a SyncTarget.
func (w *world) target(arg int) {
	slot := arg % slots
	row := w.head().targets[slot]
	switch arg / 8 % 8 {
	case 0:
		row.leave = Drain
	case 1:
		row.leave = Evict
	case 2, 3:
		row.leave = MayStay
	case 4:
		row.cordon = !row.cordon
	case 5:
		w.tale("target %d is deleted", row.id)
		delete(w.sites, row.id)
		row = targetRow{}
	case 6:
		w.tale("target %d is made anew", row.id)
		delete(w.sites, row.id)
		w.join(slot)
		return
	}
	if row.id == 0 && w.head().targets[slot].id == 0 {
		w.join(slot)
		return
	}
	row.touched++
	w.tale("target %d: %+v", slot, row)
	w.user(func(s *state) { s.targets[slot] = row })
}

// wishes are what users write where.
func wishes(arg int) wish {
	switch arg % 8 {
	case 0:
		return wish{kind: silent}
	case 1:
		return wish{kind: nowhere}
	case 2:
		return wish{kind: anyOf, count: 1 + arg/8%2}
	case 3:
		return wish{kind: byName, names: []uint8{3, 5, 6}[arg/8%3]}
	default:
		return wish{kind: byName, names: 1 << (arg / 8 % slots)}
	}
}

// hooks are how many are run before a target is left.
func hooks(arg int) uint8 { return uint8(max(0, arg%5-2)) }

// wish is a user's write that changes what is wished.
func (w *world) wish(arg, i int) {
	kind, arg := arg/8%10, arg/80
	t := w.head().things[i]
	switch {
	case kind < 3 && t.uid != "":
		t.own = uint8(arg % (slots + 1))
	case kind < 5 && t.uid != "":
		t.app = uint8(arg % 4)
	case kind < 6:
		w.tale("namespace: %+v", wishes(arg))
		w.user(func(s *state) { s.ns.wish, s.ns.hooks = wishes(arg), hooks(arg/64) })
		return
	case kind < 8:
		w.book(arg%books, arg/books)
		return
	case kind < 9 && t.uid != "":
		w.leaveAndReturn(w.head().wished(&t))
		return
	case t.uid != "": // somebody takes the last change back
		t.own, t.app = t.last.own, t.last.app
	default:
		return
	}
	w.tale("%s: own %d app %b", t.uid, t.own, t.app)
	w.user(func(s *state) {
		now := &s.things[i]
		now.last.own, now.last.app = now.own, now.app
		now.own, now.app, now.mod = t.own, t.app, s.rev
	})
}

// leaveAndReturn lets a unit be wished nowhere, or where it was before that.
func (w *world) leaveAndReturn(id UnitID) {
	if w.head().book(id) == nil {
		return
	}
	w.user(func(s *state) {
		b := s.book(id)
		if b.wish.kind != nowhere {
			b.wish, b.last = wish{kind: nowhere}, b.wish
		} else {
			b.wish, b.last = b.last, b.wish
		}
		w.tale("unit %s: %+v", id, b.wish)
	})
}

// book makes, changes or deletes a Placement.
func (w *world) book(i, arg int) {
	b := w.head().books[i]
	switch kind := arg % 5; {
	case b.uid == "" || kind == 0:
		b = bookRow{uid: UnitID(w.uid("p")), wish: wishes(arg / 5), breakFirst: arg/40%4 == 0,
			hooks: hooks(arg / 160)}
	case kind == 1:
		b = bookRow{}
	case kind == 2:
		b.suspended = !b.suspended
	default:
		b.wish = wishes(arg / 5)
	}
	w.tale("placement %d: %+v", i, b)
	w.user(func(s *state) { s.books[i] = b })
}

// object makes, changes or deletes an object, or its Namespace with all that is in it.
func (w *world) object(arg, i int) {
	t := w.head().things[i]
	switch kind := arg / 8 % 8; {
	case t.uid == "":
		w.create(arg/64, i)
	case kind == 0:
		w.tale("the namespace is made anew")
		uid := UnitID(w.uid("n"))
		w.user(func(s *state) {
			s.things = [things]thingRow{}
			s.ns = bookRow{uid: uid, wish: wishes(arg / 64)}
		})
	case kind < 3:
		w.tale("%s is deleted", t.uid)
		w.user(func(s *state) { s.things[i] = thingRow{} })
	case kind == 3:
		w.user(func(s *state) { s.things[i] = thingRow{} })
		w.create(arg/64, i)
	default:
		w.tale("%s is changed", t.uid)
		w.user(func(s *state) { s.things[i].version++; s.things[i].mod = s.rev })
	}
}

// create makes an object: through the leader, whose admission stamps it, or through a follower.
func (w *world) create(arg, i int) {
	t := thingRow{uid: ObjectID(w.uid("o")), version: 1, once: arg%4 == 0, leased: arg%4 == 1,
		runs: arg/7%4 == 0}
	if arg/4%3 == 0 {
		t.own = uint8(1 + arg/12%slots)
	}
	t.app = uint8(arg / 36 % 4)
	if l := w.leader; l.open && arg/144%2 == 0 && !t.once && l.x.Admits(l.view().wished(&t)) {
		t.stamp = l.view().wished(&t)
		t.admitted, t.era = l.view().around(t.stamp), l.era
	}
	w.tale("%s is created: %+v", t.uid, t)
	run := func() bool {
		if w.head().things[i].uid != "" {
			return false
		}
		w.user(func(s *state) { s.things[i] = t; s.things[i].mod = s.rev })
		return true
	}
	if arg/288%4 == 0 {
		w.fly(&attempt{what: fmt.Sprint("create ", t.uid), run: run, admits: t.stamp, era: t.era})
		return
	}
	run()
}

func (w *world) finishJob(arg, i int) {
	if arg%3 > 0 {
		w.endHook(arg/8, arg%3 == 2)
		return
	}
	if s := w.site(arg / 8); s != nil {
		w.finish(s, i)
	}
}

package catalog

import "skerry.dev/skerry/server/placement"

// A Service goes along with the workloads whose pods it selects, and so do the other kinds of
// placement.Follower: they are followers, and what they follow are their leaders. Each leader tells
// its followers where it is. A follower counts that by places, so that the move of one of thousands
// of leaders costs no look at the others.

// Ties are what an object follows and what follows it.
type Ties struct {
	// Followers are what follows the object, besides what follows all of its namespace. told is what the
	// object has told both. It holds while there are Followers, or the object runs.
	Followers objects
	told      place
	// runs: the object has pods, with these labels.
	runs bool
	pods LabelText
	// of is what the object follows, nil for nothing; line is where the index has it. alone: it had a
	// word of its own when it was settled last.
	of      *placement.Follower
	line    string
	alone   bool
	Leaders objects
	// here counts the leaders that lead by where they are, nil for nowhere.
	here places
	// Doors are the targets at which the object stays a door, see door.
	Doors *Set
}

// place is where a leader is. One that does not lead has its followers stay where they are.
type place struct {
	on    *Set
	leads bool
}

// leads reports whether objects of a kind may lead who names them: see placement.GoesAlong.
func leads(k *Kind, f *placement.Follower) bool {
	return k.Group == "" && k.Resource == "services" && !f.Only || !placement.GoesAlong(k.Group, k.Resource)
}

// leaders visits what is to lead a follower in a namespace, some twice.
func (c *Catalog) leaders(n *Namespace, f *placement.Follower, visit func(*Object)) {
	c.named(n, f, visit)
	if f.Selector != nil {
		n.followers.selected(f.Selector, visit)
	}
}

// named visits what a follower names.
func (c *Catalog) named(n *Namespace, f *placement.Follower, visit func(*Object)) {
	for _, is := range f.Names {
		k := c.KindNames[[2]string{is.Group, is.Kind}]
		if k == nil || !leads(k, f) {
			continue
		}
		if o := n.Objects[objectID{k, is.Name}]; o != nil && o.Present {
			visit(o)
		}
	}
}

// Tie takes over what an object follows, nil for nothing, and the labels of its pods. It returns the
// followers for which that is news. The lock must be held.
func (c *Catalog) Tie(o *Object, f *placement.Follower, pods LabelText, runs bool) (touched []*Object) {
	x := &o.Namespace.followers
	if !o.Present {
		f, runs = nil, false
	}
	if o.Ties == nil {
		o.Ties = &Ties{}
	}
	t := o.Ties
	if !f.Equal(t.of) {
		o.unfollow()
		if f != nil {
			c.follow(o, f)
		}
		touched = append(touched, o)
	}
	join := func(f *Object) {
		if c.join(o, f) {
			touched = append(touched, f)
		}
	}
	if !o.Present || t.runs != runs || t.pods != pods {
		touched = append(touched, o.unlead()...)
		if t.runs != runs {
			touched = append(touched, c.run(o, runs)...)
		}
		if runs {
			t.pods = pods
			for _, line := range pods.lines() {
				put(&x.pods, line, o)
			}
			x.ofPods(pods, join)
		}
	}
	if o.Present {
		x.ofName(o.Kind, o.Name, join)
	}
	o.dropTies()
	return touched
}

// join makes an object a leader of a follower, and reports whether it was not.
func (c *Catalog) join(o, f *Object) bool {
	if !f.Ties.Leaders.add(o) {
		return false
	}
	if o.Ties == nil {
		o.Ties = &Ties{}
	}
	if !o.Ties.tells() {
		o.Ties.told = c.leading(o)
	}
	o.Ties.Followers.add(f)
	f.Ties.here.count(o.Ties.told, 1)
	return true
}

// tells reports whether anybody counts where the object is.
func (t *Ties) tells() bool { return t.runs || t.Followers.len() > 0 }

// places counts leaders by where they are.
type places map[*Set]int

// count takes over that a leader has come to a place, or has left it. It reports whether the place came or
// went by that.
func (p *places) count(at place, by int) bool {
	if !at.leads {
		return false
	}
	if *p == nil {
		*p = places{}
	}
	(*p)[at.on] += by
	n := (*p)[at.on]
	if n == 0 {
		delete(*p, at.on)
	}
	return n == 0 || n == 1 && by == 1
}

// unlead takes an object out of the index of leaders, and returns what followed it.
func (o *Object) unlead() []*Object {
	t := o.Ties
	touched := t.Followers.list()
	for _, f := range touched {
		f.Ties.Leaders.remove(o)
		f.Ties.here.count(t.told, -1)
	}
	if t.runs {
		for _, line := range t.pods.lines() {
			drop(o.Namespace.followers.pods, line, o)
		}
	}
	t.Followers, t.pods = objects{}, LabelText{}
	return touched
}

// follow puts a follower into the index, and finds its leaders.
func (c *Catalog) follow(o *Object, f *placement.Follower) {
	x := &o.Namespace.followers
	o.Ties.of = f
	for _, name := range f.Names {
		put(&x.byName, name, o)
	}
	c.named(o.Namespace, f, func(l *Object) { c.join(l, o) })
	switch {
	case o.Ties.selectsAll():
		x.whole.add(o)
	case f.Selector != nil:
		o.Ties.line = ""
		for i, line := range linesOf(f.Selector) {
			if i == 0 || x.byLine[line].len() < x.byLine[o.Ties.line].len() {
				o.Ties.line = line
			}
		}
		put(&x.byLine, o.Ties.line, o)
		x.selected(f.Selector, func(l *Object) { c.join(l, o) })
	}
}

// unfollow undoes follow.
func (o *Object) unfollow() {
	x, t := &o.Namespace.followers, o.Ties
	if t.of == nil {
		return
	}
	for _, name := range t.of.Names {
		drop(x.byName, name, o)
	}
	switch {
	case t.selectsAll():
		x.whole.remove(o)
	case t.of.Selector != nil:
		drop(x.byLine, t.line, o)
	}
	for l := range t.Leaders.all() {
		l.Ties.Followers.remove(o)
		l.dropTies()
	}
	t.of, t.line, t.Leaders, t.here = nil, "", objects{}, nil
}

// dropTies saves the memory of what says nothing.
func (o *Object) dropTies() {
	if t := o.Ties; t != nil && t.of == nil && !t.tells() {
		o.Ties = nil
	}
}

// Leads has the followers of an object know where it is, and returns those for which that is news. The lock
// must be held.
func (c *Catalog) Leads(o *Object) (touched []*Object) {
	t := o.Ties
	if t == nil || !t.tells() {
		return nil
	}
	now := c.leading(o)
	if now == t.told {
		return nil
	}
	for f := range t.Followers.all() {
		left, came := f.Ties.here.count(t.told, -1), f.Ties.here.count(now, 1)
		if left || came {
			touched = append(touched, f)
		}
	}
	if t.runs {
		touched = append(touched, o.Namespace.followers.whole.moved(t.told, now)...)
	}
	t.told = now
	return touched
}

// leading is where an object has its followers be.
func (c *Catalog) leading(o *Object) place {
	if !o.Present || o.Finished || !o.BringsDependencies() {
		return place{}
	}
	return place{on: c.placed(o), leads: true}
}

// StandsAlone reports whether a follower has a word of its own of where it is: its label, or a Placement that
// names its kind.
func (o *Object) StandsAlone() bool {
	g := o.Source
	return g != nil && (g.Kind == OfObject ||
		g.Kind == OfPlacement && g.Book.Rule != nil && g.Book.Rule.NamesKind(o.Subject()))
}

// along is where an object is that is on own for itself. The lock must be held.
func (c *Catalog) along(o *Object, own *Set) *Set {
	t := o.Ties
	if t == nil || t.of == nil || o.StandsAlone() {
		return own
	}
	if t.of.Only && len(t.here) > 0 {
		own = nil
	}
	own = c.everywhere(own, t.here)
	if t.selectsAll() {
		own = c.everywhere(own, o.Namespace.followers.whole.here)
	}
	return own
}

// OnlyAlong reports whether an object is where what it follows is and nowhere else, whatever its record
// says. The lock must be held.
func (c *Catalog) OnlyAlong(o *Object) bool {
	return o.Ties != nil && o.Ties.of != nil && o.Ties.of.Only && len(o.Ties.here) > 0 && !o.StandsAlone()
}

// Served reports whether an object is a Service, or one goes along with it: a Service with an empty selector
// selects nothing. The lock must be held.
func (o *Object) Served() bool {
	isService := func(o *Object) bool { return o.Kind.Group == "" && o.Kind.Resource == "services" }
	if isService(o) {
		return true
	}
	if o.Ties != nil {
		for f := range o.Ties.Followers.all() {
			if isService(f) {
				return true
			}
		}
	}
	return false
}

// Alone takes over whether an object stands alone, and returns the leaders for which that, or its move, is
// news: they say what does not go along with them. The lock must be held.
func (c *Catalog) Alone(o *Object, moved bool) (leaders []*Object) {
	t := o.Ties
	if t == nil || t.of == nil {
		return nil
	}
	was := t.alone
	if t.alone = o.StandsAlone(); t.alone != was || t.alone && moved {
		leaders = t.Leaders.list()
		if t.selectsAll() {
			o.Namespace.followers.whole.add(o)
			leaders = append(leaders, o.Namespace.followers.pods[""].list()...)
		}
	}
	return leaders
}

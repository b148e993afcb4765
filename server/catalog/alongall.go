package catalog

// A NetworkPolicy with an empty selector selects all pods of its namespace. Edges between each such
// follower and each workload would be as many as the one times the other. So all of them share one count
// of the places of all workloads.

// whole is what selects all pods of a namespace.
type whole struct {
	followers, alone objects // alone: those of them that have a word of their own, see Ties
	here             places  // of all workloads
}

func (w *whole) add(f *Object) {
	w.followers.add(f)
	if f.Ties.alone {
		w.alone.add(f)
	} else {
		w.alone.remove(f)
	}
}

func (w *whole) remove(f *Object) {
	w.followers.remove(f)
	w.alone.remove(f)
}

// moved takes over that a workload has moved, and returns the followers if that is news for them.
func (w *whole) moved(from, to place) []*Object {
	left, came := w.here.count(from, -1), w.here.count(to, 1)
	if left || came {
		return w.followers.list()
	}
	return nil
}

// selectsAll reports whether a follower selects all pods of its namespace.
func (t *Ties) selectsAll() bool {
	return t.of != nil && t.of.Selector != nil && t.of.Selector.Empty()
}

// run takes over whether an object that has no Followers has pods. It returns what follows all of its
// namespace, if that is news.
func (c *Catalog) run(o *Object, runs bool) []*Object {
	t, w := o.Ties, &o.Namespace.followers.whole
	if t.runs = runs; !runs {
		return w.moved(t.told, place{})
	}
	t.told = c.leading(o)
	return w.moved(place{}, t.told)
}

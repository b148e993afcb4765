package deletionguard

import (
	"cmp"
	"slices"
	"strings"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// release releases withheld tombstones.
func (g *Guard) release(which func(revision int64) bool) {
	var keys []store.Key
	g.mu.Lock()
	for k, revision := range g.held {
		if which(revision) {
			keys = append(keys, k)
			delete(g.held, k)
		}
	}
	g.mu.Unlock()
	if len(keys) > 0 {
		g.queue.Changed(keys)
	}
}

// forget drops the confirmation of keys that are live again.
func (g *Guard) forget(entries []store.Entry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range entries {
		if !e.Tombstone {
			delete(g.confirmed, e.Key)
		}
	}
}

// done switches the guard off when nothing is withheld any more, and reports what is.
func (g *Guard) done() error {
	if g.is.On && len(g.held) == 0 {
		if err := g.become(state{Gathering: g.is.Gathering, Free: g.is.Free, Allowed: g.is.Allowed}); err != nil {
			return err
		}
		g.cfg.Log.Info("no deletions are held any more")
	}
	g.report()
	return nil
}

func (g *Guard) report() {
	if !g.is.On {
		g.cfg.Status.Withhold(nil)
		return
	}
	w := &tunnel.Withheld{Deletions: len(g.held), Objects: max(g.is.Objects, g.Copy.Len()+len(g.held))}
	in := map[tunnel.WithheldIn]int{}
	for k, revision := range g.held {
		in[tunnel.WithheldIn{Space: k.Space, Namespace: namespaceOf(k)}]++
		w.UpTo = max(w.UpTo, revision)
		w.First = append(w.First, k.String())
	}
	slices.SortFunc(w.First, strings.Compare)
	w.First = slices.Clip(w.First[:min(len(w.First), named)])
	for where, n := range in {
		where.Deletions = n
		w.In = append(w.In, where)
	}
	slices.SortFunc(w.In, func(x, y tunnel.WithheldIn) int {
		return cmp.Or(
			cmp.Compare(y.Deletions, x.Deletions),
			strings.Compare(x.Space, y.Space),
			strings.Compare(x.Namespace, y.Namespace),
		)
	})
	w.In = slices.Clip(w.In[:min(len(w.In), named)])
	g.cfg.Status.Withhold(w)
}

// namespaceOf returns the namespace in which people look for an object. A Namespace counts in
// itself.
func namespaceOf(k store.Key) string {
	if k.Class() == store.ClassNamespace {
		return k.Name
	}
	return k.Namespace
}

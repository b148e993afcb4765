package deletionguard

import (
	"cmp"
	"slices"
	"strings"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// release releases withheld tombstones.
func (b *Guard) release(which func(revision int64) bool) {
	var keys []store.Key
	b.mu.Lock()
	for k, revision := range b.held {
		if which(revision) {
			keys = append(keys, k)
			delete(b.held, k)
		}
	}
	b.mu.Unlock()
	if len(keys) > 0 {
		b.queue.Changed(keys)
	}
}

// forget drops the confirmation of keys that are live again.
func (b *Guard) forget(entries []store.Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range entries {
		if !e.Tombstone {
			delete(b.confirmed, e.Key)
		}
	}
}

// done switches the guard off when nothing is withheld any more, and reports what is.
func (b *Guard) done() error {
	if b.is.On && len(b.held) == 0 {
		if err := b.become(state{Gathering: b.is.Gathering, Free: b.is.Free, Allowed: b.is.Allowed}); err != nil {
			return err
		}
		b.cfg.Log.Info("no deletions are held any more")
	}
	b.report()
	return nil
}

func (b *Guard) report() {
	if !b.is.On {
		b.cfg.Status.Withhold(nil)
		return
	}
	w := &tunnel.Withheld{Deletions: len(b.held), Objects: max(b.is.Objects, b.Copy.Len()+len(b.held))}
	in := map[tunnel.WithheldIn]int{}
	for k, revision := range b.held {
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
	b.cfg.Status.Withhold(w)
}

// namespaceOf returns the namespace in which people look for an object. A Namespace counts in
// itself.
func namespaceOf(k store.Key) string {
	if k.Class() == store.ClassNamespace {
		return k.Name
	}
	return k.Namespace
}

package gc

import (
	"sync"

	"skerry.dev/skerry/store"
)

// graph is who owns whom, in all spaces. It is pure bookkeeping; next is called with every object
// that has to be looked at, while the lock is held.
type graph struct {
	next func(id)

	mu    sync.Mutex
	nodes map[id]*node
	keys  map[store.Key]*node
}

func newGraph(next func(id)) *graph {
	return &graph{next: next, nodes: map[id]*node{}, keys: map[store.Key]*node{}}
}

// reset makes the graph anew from everything that exists.
func (g *graph) reset(all store.Listing) {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.nodes)
	clear(g.keys)
	owners := map[id]bool{}
	for w := range all.Objects(nil) {
		for _, o := range metaOf(w.Object).owners {
			owners[id{w.Key.Space, o.uid}] = true
		}
	}
	for w := range all.Objects(nil) {
		m := metaOf(w.Object)
		if owners[id{w.Key.Space, m.uid}] && !m.mirror {
			g.nodeLocked(id{w.Key.Space, m.uid})
		}
		g.putLocked(w, m)
	}
	for i, n := range g.nodes {
		if !n.seen {
			for d := range n.dependents {
				g.next(d.id)
			}
		}
		if n.deleting {
			g.next(i)
		}
	}
}

// apply takes one write.
func (g *graph) apply(w store.Write) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if w.Object == nil {
		if n := g.keys[w.Key]; n != nil {
			g.removeLocked(n)
		}
		return
	}
	m := metaOf(w.Object)
	if n := g.keys[w.Key]; n != nil && n.id.uid != m.uid {
		g.removeLocked(n) // the name belongs to another object now
	}
	g.putLocked(w, m)
}

// putLocked takes an object as it is now. Objects that own nothing, are owned by nothing and wait
// for nothing have no node.
func (g *graph) putLocked(w store.Write, m meta) {
	i := id{w.Key.Space, m.uid}
	n := g.nodes[i]
	if m.mirror || n == nil && len(m.owners) == 0 && !m.deleting {
		return
	}
	if n == nil {
		n = g.nodeLocked(i)
	}
	if n.key != w.Key && g.keys[n.key] == n {
		delete(g.keys, n.key) // a SyncTarget was renamed; its old name is deleted next
	}
	before := n.owners
	n.key, n.apiVersion, n.found, n.seen, n.gone = w.Key, w.APIVersion, true, true, false
	n.deleting, n.finalizers, n.owners = m.deleting, m.finalizers, m.owners
	g.keys[w.Key] = n
	unsure := false
	for _, o := range n.owners {
		by := g.nodeLocked(id{i.space, o.uid})
		by.dependents[n] = struct{}{}
		unsure = unsure || !by.seen || by.gone || by.has(finalizerForeground) || by.found && by.apart(n.key)
	}
	for _, o := range before {
		g.releaseLocked(n, o)
	}
	if unsure || n.has(finalizerOrphan) {
		g.next(i)
	}
	if n.has(finalizerForeground) {
		g.next(i)
		for d := range n.dependents {
			g.next(d.id)
		}
	}
	g.forgetLocked(n)
}

// releaseLocked takes n off the dependents of an owner that it no longer names.
func (g *graph) releaseLocked(n *node, o owner) {
	for _, still := range n.owners {
		if still.uid == o.uid {
			return
		}
	}
	if by := g.nodes[id{n.id.space, o.uid}]; by != nil {
		delete(by.dependents, n)
		if by.has(finalizerForeground) {
			g.next(by.id)
		}
		g.forgetLocked(by)
	}
}

// removeLocked notes that an object does not exist any more.
func (g *graph) removeLocked(n *node) {
	if g.keys[n.key] == n {
		delete(g.keys, n.key)
	}
	n.gone, n.seen, n.deleting, n.finalizers = true, true, false, nil
	before := n.owners
	n.owners = nil
	for _, o := range before {
		g.releaseLocked(n, o)
	}
	for d := range n.dependents {
		g.next(d.id)
	}
	g.forgetLocked(n)
}

// nodeLocked returns the node of an object, a new one for one that is not known yet.
func (g *graph) nodeLocked(i id) *node {
	n := g.nodes[i]
	if n == nil {
		n = &node{id: i, dependents: map[*node]struct{}{}}
		g.nodes[i] = n
	}
	return n
}

// forgetLocked drops a node that nothing needs.
func (g *graph) forgetLocked(n *node) {
	if len(n.dependents) > 0 || len(n.owners) > 0 || n.deleting && !n.gone {
		return
	}
	delete(g.nodes, n.id)
	if g.keys[n.key] == n {
		delete(g.keys, n.key)
	}
}

// expect notes under which key an owner that is about to be asked for would be, so that a deletion
// that is seen meanwhile is not missed.
func (g *graph) expect(n *node, key store.Key, apiVersion string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.keys[key] == nil && !n.seen {
		n.key, n.apiVersion = key, apiVersion
		g.keys[key] = n
	}
}

// recordLocked notes what the API said of an owner where a reference looks for it. A write of it that was
// seen meanwhile knows better; its deletion has brought the dependents back into the queue. That it is not
// there says nothing of other places: another reference may look where it is.
func (g *graph) recordLocked(n *node, key store.Key, found bool, m meta) {
	switch {
	case n.seen && !n.gone:
	case found && !n.seen:
		n.key, n.found, n.seen, n.deleting, n.finalizers = key, true, true, m.deleting, m.finalizers
		g.keys[key] = n
	case found:
	case n.found && n.key == key:
		n.confirmed = true
		fallthrough
	default:
		if g.keys[key] == n {
			delete(g.keys, key)
		}
		if !n.found && n.key == key {
			n.key = store.Key{}
		}
		if n.absent == nil {
			n.absent = map[store.Key]struct{}{}
		}
		n.absent[key] = struct{}{}
	}
}

package observe

import (
	"hash/maphash"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// names knows which names of one watched resource are taken on the target, by a 64-bit hash each. It answers only while a watch has
// stood for some time, so that what happened before it is told.
type names struct {
	taken    map[uint64]struct{}
	complete bool      // the last list is in
	since    time.Time // when the watch that stands began; zero while none does
}

// settleTime is how long a watch must stand before its silence means that there is nothing: a new one first tells what was missed.
const settleTime = time.Second

var seed = maphash.MakeSeed()

func hashOf(namespace, name string) uint64 {
	return maphash.String(seed, namespace+"/"+name)
}

func (n *names) add(live *target.Object) {
	n.taken[hashOf(live.Metadata.Namespace, live.Metadata.Name)] = struct{}{}
}

func (n *names) remove(live *target.Object) {
	delete(n.taken, hashOf(live.Metadata.Namespace, live.Metadata.Name))
}

// free tells whether the name is known not to be taken.
func (n *names) free(namespace, name string) bool {
	if _, taken := n.taken[hashOf(namespace, name)]; taken {
		return false
	}
	return n.complete && !n.since.IsZero() && time.Since(n.since) > settleTime
}

// Absent tells whether the target is known to have no object of this key, of ours or of anybody. False means that it must be asked.
func (o *Observer) Absent(k store.Key) bool {
	w, ok := o.watchKeyOf(k, resource{k.Group, k.Resource})
	if !ok {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	running := o.watchers[w]
	return running != nil && running.names.free(k.Namespace, k.Name)
}

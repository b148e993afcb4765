package desired

import (
	"container/list"
	"sync"

	"skerry.dev/skerry/store"
)

// bodyBytes bounds what is kept of rendered bodies: they are needed for as long as a write takes to
// reach the connected targets.
const bodyBytes = 4 << 20

// bodies keeps the last rendered bodies, the least recently rendered goes first.
type bodies struct {
	mu    sync.Mutex
	items map[store.Key]*body
	order list.List // of store.Key, oldest first
	size  int
	limit int
}

type body struct {
	hash  store.Hash
	bytes []byte
	place *list.Element
}

func (b *bodies) put(k store.Key, h store.Hash, bytes []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if old, ok := b.items[k]; ok {
		b.remove(k, old)
	}
	if len(bytes) > b.limit {
		return
	}
	b.items[k] = &body{hash: h, bytes: bytes, place: b.order.PushBack(k)}
	b.size += len(bytes)
	for b.size > b.limit {
		oldest := b.order.Front().Value.(store.Key)
		b.remove(oldest, b.items[oldest])
	}
}

// get returns the body of a key when it is the one with this hash.
func (b *bodies) get(k store.Key, h store.Hash) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if it, ok := b.items[k]; ok && it.hash == h {
		return it.bytes
	}
	return nil
}

// drop forgets the body of an object that is gone.
func (b *bodies) drop(k store.Key, h store.Hash) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if it, ok := b.items[k]; ok && it.hash == h {
		b.remove(k, it)
	}
}

// clear forgets all bodies.
func (b *bodies) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.items)
	b.order.Init()
	b.size = 0
}

func (b *bodies) remove(k store.Key, it *body) {
	b.order.Remove(it.place)
	b.size -= len(it.bytes)
	delete(b.items, k)
}

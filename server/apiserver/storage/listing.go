package storage

import (
	"fmt"
	"iter"
	"runtime"
	"sync"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/store"
)

// listing is what the store holds at one revision, in the order of its keys.
type listing struct {
	of    *changes
	items []record
}

type record struct {
	key store.Key
	kv  *mvccpb.KeyValue
}

// newListing skips keys that name no object. It decodes everything once, so that an error is found
// before the first object is given away.
func (c *changes) newListing(all []*mvccpb.KeyValue) (*listing, error) {
	l := &listing{of: c, items: make([]record, 0, len(all))}
	for _, kv := range all {
		if k, ok := registrykey.Parse(c.native, string(kv.Key)); ok {
			l.items = append(l.items, record{k, kv})
		}
	}
	for part := range l.decoded(nil, func(i record) (store.Write, error) {
		data, err := c.plain(i.key, i.kv)
		if err == nil {
			_, err = Decode(data)
		}
		return store.Write{Key: i.key}, err
	}) {
		for i, err := range part.errs {
			if err != nil {
				return nil, fmt.Errorf("decode %s: %w", part.items[i].kv.Key, err)
			}
		}
	}
	return l, nil
}

// Keys implements store.Listing.
func (l *listing) Keys() iter.Seq2[store.Key, int] {
	return func(yield func(store.Key, int) bool) {
		for _, i := range l.items {
			if !yield(i.key, storedSize(i.kv)) {
				return
			}
		}
	}
}

// Objects implements store.Listing.
func (l *listing) Objects(wanted func(store.Key) bool) iter.Seq[store.Write] {
	return func(yield func(store.Write) bool) {
		for part := range l.decoded(wanted, func(i record) (store.Write, error) { return l.of.write(i.key, i.kv) }) {
			for i, w := range part.writes {
				if part.errs[i] == nil && !yield(w) {
					return
				}
			}
		}
	}
}

// piece is a part of a listing that one processor decodes.
type piece struct {
	items  []record
	writes []store.Write
	errs   []error
}

// pieceSize is how many objects a piece has: few enough to take little memory, enough to be worth a
// goroutine.
const pieceSize = 64

// decoded yields the selected objects in order, a piece at a time. All processors decode. They are
// at most as many pieces ahead of the reader as there are processors.
func (l *listing) decoded(wanted func(store.Key) bool, decode func(record) (store.Write, error)) iter.Seq[*piece] {
	return func(yield func(*piece) bool) {
		var all sync.WaitGroup
		defer all.Wait()
		ahead := make([]chan *piece, 0, runtime.GOMAXPROCS(0))
		rest := l.items
		begin := func() bool {
			p := &piece{items: make([]record, 0, pieceSize)}
			for len(rest) > 0 && len(p.items) < pieceSize {
				if wanted == nil || wanted(rest[0].key) {
					p.items = append(p.items, rest[0])
				}
				rest = rest[1:]
			}
			if len(p.items) == 0 {
				return false
			}
			done := make(chan *piece, 1)
			ahead = append(ahead, done)
			all.Go(func() {
				p.writes, p.errs = make([]store.Write, len(p.items)), make([]error, len(p.items))
				for i := range p.items {
					p.writes[i], p.errs[i] = decode(p.items[i])
				}
				done <- p
			})
			return true
		}
		for len(ahead) < cap(ahead) && begin() {
		}
		for len(ahead) > 0 {
			p := <-ahead[0]
			ahead = append(ahead[:0], ahead[1:]...)
			begin()
			if !yield(p) {
				return
			}
		}
	}
}

// storedSize returns how many bytes of an object are stored, with its key.
func storedSize(kv *mvccpb.KeyValue) int { return len(kv.Key) + len(kv.Value) }

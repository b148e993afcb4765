package server

import (
	"sync"

	"skerry.dev/skerry/server/apiserver/storage"
	"skerry.dev/skerry/store"
)

// fanOut hands every write to several handlers, one after another, so that all of them have the
// same view of the order.
type fanOut struct {
	to    []storage.ChangeHandler
	first chan struct{} // closed after the first snapshot
	once  sync.Once
}

// Reset implements storage.ChangeHandler.
func (f *fanOut) Reset(revision int64, all store.Listing) {
	for _, h := range f.to {
		h.Reset(revision, all)
	}
	f.once.Do(func() { close(f.first) })
}

// Apply implements storage.ChangeHandler.
func (f *fanOut) Apply(w store.Write) {
	for _, h := range f.to {
		h.Apply(w)
	}
}

// Progress implements storage.ChangeHandler.
func (f *fanOut) Progress(revision int64) {
	for _, h := range f.to {
		h.Progress(revision)
	}
}

package storage

import (
	"strconv"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/share"
)

// maxQueue is how many events a reader may be behind.
const maxQueue = 1000

// holding keeps the events of a client's watch until they are sent. It takes each new event at once,
// so that neither the cache, which serves all spaces, nor the store waits for a reader or keeps
// copies for it. Events from before the watch come as fast as the reader takes them.
type holding struct {
	*share.Watch
	of    *spaceStorage
	space string
	// own is set while the watch has a watch of the store to itself, which sends a copy of each event
	// and keeps it until it is taken.
	own   atomic.Bool
	since int64 // the watch began at this revision: later events are new
}

func (s *spaceStorage) holdEvents(is *share.Watch, space string) *holding {
	h := &holding{Watch: is, of: s, space: space, since: s.all.config.Quota.Seen()}
	h.own.Store(s.shared != nil)
	return h
}

// shares records that the watch no longer has a watch of the store to itself.
func (h *holding) shares() {
	h.own.Store(false)
	h.Books.Unkeep()
}

// hold records an event that is about to be sent, and returns the event to send instead. ok is
// false if the watch has ended.
func (h *holding) hold(e watch.Event) (out watch.Event, ok bool) {
	o := metadata.Of(e.Object)
	switch e.Object.(type) {
	case nil, *api.Service, *api.PersistentVolumeClaim: // upstream fills in defaults of what it reads of these
		return e, true
	}
	if o == nil || e.Type == watch.Bookmark || e.Type == watch.Error {
		return e, true
	}
	key := eventKey{h.of, h.space, o.GetNamespace(), o.GetName(), o.GetResourceVersion(), e.Type}
	size := h.of.sizeOf(key)
	if h.own.Load() {
		h.Books.Keep(2 * size) // the object and the one before it
	}
	held := h.Books.Hold(key, size, func() any {
		return &sharedObject{object: e.Object, all: map[runtime.Identifier]*encoding{}}
	})
	if held == nil {
		return e, false
	}
	return watch.Event{Type: e.Type, Object: &heldEvent{h.Books, held, held.Value.(*sharedObject)}}, true
}

// ahead reports whether to take the next event although the reader has not taken the present ones.
// It ends the watch if the reader is too far behind.
func (h *holding) ahead(queue []watch.Event) bool {
	if h == nil {
		return false
	}
	last := metadata.Of(queue[len(queue)-1].Object)
	if last == nil {
		return false
	}
	if n, err := strconv.ParseInt(last.GetResourceVersion(), 10, 64); err != nil || n <= h.since {
		return false
	}
	if len(queue) >= maxQueue {
		h.Books.End()
		return false
	}
	return true
}

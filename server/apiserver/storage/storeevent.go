package storage

import (
	"context"
	"fmt"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/value"
)

// decodeFunc makes an object of a stored value, with a revision as its resourceVersion.
type decodeFunc func(ctx context.Context, key string, value []byte, revision int64) (
	runtime.Object, error)

// decoder decodes with a codec what a transformer has stored.
func decoder(t value.Transformer, c runtime.Codec, v storage.Versioner) decodeFunc {
	return func(ctx context.Context, key string, stored []byte, revision int64) (
		runtime.Object, error) {
		data, _, err := t.TransformFromStorage(ctx, stored, value.DefaultContext(key))
		if err != nil {
			return nil, fmt.Errorf("read %s at revision %d: %w", key, revision, err)
		}
		obj, err := runtime.Decode(c, data)
		if err == nil {
			err = v.UpdateObject(obj, uint64(revision))
		}
		if err != nil {
			return nil, fmt.Errorf("decode %s at revision %d: %w", key, revision, err)
		}
		return obj, nil
	}
}

// storeEvent is a change in the store, or its progress, that several watches get.
type storeEvent struct {
	revision int64
	key      string // "" for progress
	typ      watch.EventType
	size     int // of both values, in bytes

	now, before storedObject
}

// storedObject is decoded when the first watch needs it.
type storedObject struct {
	once  sync.Once
	value []byte // nil once it is decoded
	obj   runtime.Object
	err   error
}

// newStoreEvent returns an error for an event without its former value, as upstream's watches do.
func newStoreEvent(e *clientv3.Event) (*storeEvent, error) {
	s := &storeEvent{revision: e.Kv.ModRevision, key: string(e.Kv.Key), typ: watch.Modified}
	switch {
	case e.IsCreate():
		s.typ = watch.Added
	case e.PrevKv == nil:
		return nil, fmt.Errorf("the store gives no former value of %s at revision %d", s.key, s.revision)
	case e.Type == clientv3.EventTypeDelete:
		s.typ = watch.Deleted
	}
	if s.typ != watch.Deleted {
		s.now.value = e.Kv.Value
	}
	if e.PrevKv != nil {
		s.before.value = e.PrevKv.Value
	}
	s.size = len(s.now.value) + len(s.before.value)
	return s, nil
}

// object decodes one of an event's two objects. Both have the revision of the event, as in
// upstream's watches.
func (e *storeEvent) object(ctx context.Context, o *storedObject, decode decodeFunc) (
	runtime.Object, error) {
	o.once.Do(func() {
		o.obj, o.err = decode(ctx, e.key, o.value, e.revision)
		o.value = nil
	})
	return o.obj, o.err
}

// seenBy returns the event that a watch with a predicate gets. ok is false if it gets none. The
// object is shared: it must not be changed.
func (e *storeEvent) seenBy(ctx context.Context, p storage.SelectionPredicate, decode decodeFunc) (
	out watch.Event, ok bool, err error) {
	var now, before runtime.Object
	if e.typ != watch.Deleted {
		if now, err = e.object(ctx, &e.now, decode); err != nil {
			return out, false, err
		}
	}
	if e.typ == watch.Deleted || e.typ == watch.Modified && !p.Empty() {
		if before, err = e.object(ctx, &e.before, decode); err != nil {
			return out, false, err
		}
	}
	switch is, was := fits(p, now), fits(p, before); {
	case e.typ == watch.Modified && p.Empty(), is && was:
		return watch.Event{Type: watch.Modified, Object: now}, true, nil
	case is:
		return watch.Event{Type: watch.Added, Object: now}, true, nil
	case was:
		return watch.Event{Type: watch.Deleted, Object: before}, true, nil
	}
	return out, false, nil
}

// fits reports whether there is an object and it matches a predicate.
func fits(p storage.SelectionPredicate, o runtime.Object) bool {
	if o == nil || p.Empty() {
		return o != nil
	}
	ok, err := p.Matches(o)
	return err == nil && ok
}

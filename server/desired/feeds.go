package desired

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sort"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// Feed returns what a target shall have. It is nil while no SyncTarget of that name is known.
func (st *State) Feed(name string) *store.Feed {
	st.catalog.RLock()
	defer st.catalog.RUnlock()
	if t := st.catalog.Targets[name]; t != nil {
		return t.Feed
	}
	return nil
}

// EachFeed visits the feeds of all targets.
func (st *State) EachFeed() iter.Seq[*store.Feed] {
	return func(yield func(*store.Feed) bool) {
		st.catalog.RLock()
		feeds := make([]*store.Feed, 0, len(st.catalog.Targets))
		for _, t := range st.catalog.Targets {
			feeds = append(feeds, t.Feed)
		}
		st.catalog.RUnlock()
		for _, f := range feeds {
			if !yield(f) {
				return
			}
		}
	}
}

// Placed lists what is placed on a target, by key and hash.
func (st *State) Placed(name string) []store.Entry {
	f := st.Feed(name)
	if f == nil {
		return nil
	}
	return slices.DeleteFunc(f.All(), func(e store.Entry) bool { return e.Key == store.ValuesKey })
}

// Count is how many objects are placed on a target.
func (st *State) Count(name string) int {
	st.catalog.RLock()
	defer st.catalog.RUnlock()
	t := st.catalog.Targets[name]
	switch {
	case t == nil:
		return 0
	case t.Valued && t.Feed.Len() > 0:
		return t.Feed.Len() - 1
	}
	return t.Feed.Len()
}

// Rest gives back the memory of rendered bodies. They are rendered again when a target asks for them.
func (st *State) Rest() { st.bodies.clear() }

// fill puts everything that is already recorded for a target into its new feed.
func (s *step) fill(name string) {
	s.st.catalog.EachObject(func(o *catalog.Object) {
		if o.HasAt(name) {
			s.changes[name] = append(s.changes[name], s.st.catalog.Change(o, name))
		}
	})
	c := s.changes[name]
	sort.Slice(c, func(i, j int) bool { return c[i].Key.Class() < c[j].Key.Class() })
}

// bodyTries is how often a body is read before it is given up, with growing pauses of 5 ms to 1 s.
const bodyTries = 10

// body is the feeds' store.BodyFunc: what was rendered just now, else the object is read from its
// space and rendered again. The API may answer from a cache that has not seen yet what the catalog
// has: then it is asked again, as after a failure.
func (st *State) body(ctx context.Context, k store.Key) ([]byte, int64, error) {
	pause := 5 * time.Millisecond
	for try := 1; ; try++ {
		b, generation, err := st.bodyNow(ctx, k)
		if err == nil || errors.Is(err, store.ErrGone) || try == bodyTries {
			return b, generation, err
		}
		select {
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		case <-time.After(pause):
			pause = min(2*pause, time.Second)
		}
	}
}

// Desired is the body of an object as it is sent now. It does not wait for an API that is behind.
func (st *State) Desired(ctx context.Context, k store.Key) ([]byte, error) {
	b, _, err := st.bodyNow(ctx, k)
	return b, err
}

// errBehind is returned while the API answers from before the write that the catalog has.
var errBehind = errors.New("the API is behind the catalog")

func (st *State) bodyNow(ctx context.Context, k store.Key) ([]byte, int64, error) {
	st.catalog.RLock()
	o := st.catalog.Find(k)
	nowhere := o == nil || o.On == nil && o.Named == nil
	st.catalog.RUnlock()
	if nowhere {
		return nil, 0, store.ErrGone
	}
	return st.Rendered(ctx, k)
}

// Rendered is the body of an object as it is now, wherever it is.
func (st *State) Rendered(ctx context.Context, k store.Key) ([]byte, int64, error) {
	st.catalog.RLock()
	o := st.catalog.Find(k)
	if o == nil || o.Retired {
		st.catalog.RUnlock()
		return nil, 0, store.ErrGone
	}
	hash, generation, revision, uid := o.Hash, o.Generation, o.Revision, o.UID
	options, apiVersion := o.Options, o.Kind.ApiVersion
	st.catalog.RUnlock()
	if b := st.bodies.get(k, hash); b != nil {
		return b, generation, nil
	}
	obj, err := st.cfg.Objects.Get(ctx, k, apiVersion)
	if apierrors.IsNotFound(err) {
		// The catalog has it: its deletion is on its way here, or its kind is not served for the
		// moment. Left out it would never be sent.
		return nil, 0, fmt.Errorf("read %s: not found: %w", k, errBehind)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", k, err)
	}
	meta := fields.Map(obj, "metadata")
	if version, _ := strconv.ParseInt(fields.Clone(meta, "resourceVersion"), 10, 64); version < revision {
		return nil, 0, fmt.Errorf("read %s: %w", k, errBehind)
	}
	if now := fields.Clone(meta, "uid"); now != uid {
		return nil, 0, store.ErrGone // deleted and made anew: both writes are on their way
	}
	b, err := customize.Render(obj, st.origin(k, options, uid))
	return b, customize.Number(meta["generation"]), err
}

// Located tells where an object is. It is false for objects that are on no target.
func (st *State) Located(k store.Key) (placement.Located, bool) {
	st.catalog.RLock()
	defer st.catalog.RUnlock()
	return st.located(st.catalog.Find(k))
}

// Owner is Located for an object that an owner reference names by its Kind.
func (st *State) Owner(space, namespace, group, kind, name string) (placement.Located, bool) {
	st.catalog.RLock()
	defer st.catalog.RUnlock()
	k := st.catalog.KindNames[[2]string{group, kind}]
	if k == nil {
		return placement.Located{}, false
	}
	return st.located(
		st.catalog.Find(store.Key{Space: space, Group: group, Resource: k.Resource, Namespace: namespace, Name: name}),
	)
}

func (st *State) located(o *catalog.Object) (placement.Located, bool) {
	if o == nil || o.On == nil || o.Retired {
		return placement.Located{}, false
	}
	return placement.Located{
		Key:        o.Key(),
		APIVersion: o.Kind.ApiVersion,
		Kind:       o.Kind.Name,
		UID:        o.UID,
		Generation: o.Generation,
		Targets:    o.On.Names,
		Named:      o.Named.List(),
		Class:      o.Kind.Class,
		Divided:    o.Divided(),
		Conditions: st.catalog.Conditions(o),
	}, true
}

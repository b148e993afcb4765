package delivery

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sort"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// Feed returns what a target shall have. It is nil while no SyncTarget of that name is known.
func (d *Delivery) Feed(name string) *store.Feed {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if t := d.targets[name]; t != nil {
		return t.feed
	}
	return nil
}

// EachFeed visits the feeds of all targets.
func (d *Delivery) EachFeed() iter.Seq[*store.Feed] {
	return func(yield func(*store.Feed) bool) {
		d.mu.RLock()
		feeds := make([]*store.Feed, 0, len(d.targets))
		for _, t := range d.targets {
			feeds = append(feeds, t.feed)
		}
		d.mu.RUnlock()
		for _, f := range feeds {
			if !yield(f) {
				return
			}
		}
	}
}

// Placed lists what is placed on a target, by key and hash.
func (d *Delivery) Placed(name string) []store.Entry {
	f := d.Feed(name)
	if f == nil {
		return nil
	}
	return f.All()
}

// Count is how many objects are placed on a target.
func (d *Delivery) Count(name string) int {
	if f := d.Feed(name); f != nil {
		return f.Len()
	}
	return 0
}

// fill puts everything that is already recorded for a target into its new feed.
func (s *step) fill(name string) {
	s.d.eachObject(func(o *object) {
		if o.on.has(name) {
			s.changes[name] = append(
				s.changes[name],
				store.Change{Key: o.key(), Hash: o.hash, Generation: o.generation},
			)
		}
	})
	c := s.changes[name]
	sort.Slice(c, func(i, j int) bool { return c[i].Key.Class() < c[j].Key.Class() })
}

func (d *Delivery) eachObject(visit func(*object)) {
	for _, s := range d.spaces {
		s.eachObject(visit)
	}
}

func (s *space) eachObject(visit func(*object)) {
	for _, o := range s.cluster.objects {
		visit(o)
	}
	for _, n := range s.namespaces {
		for _, o := range n.objects {
			visit(o)
		}
	}
}

// bodyTries is how often a body is read before it is given up, with growing pauses of 5 ms to 1 s.
const bodyTries = 10

// body is the feeds' store.BodyFunc: what was rendered just now, else the object is read from its
// space and rendered again. The API may answer from a cache that has not seen yet what the catalog
// has: then it is asked again, as after a failure.
func (d *Delivery) body(ctx context.Context, k store.Key) ([]byte, int64, error) {
	pause := 5 * time.Millisecond
	for try := 1; ; try++ {
		b, generation, err := d.bodyNow(ctx, k)
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
func (d *Delivery) Desired(ctx context.Context, k store.Key) ([]byte, error) {
	b, _, err := d.bodyNow(ctx, k)
	return b, err
}

// errBehind is returned while the API answers from before the write that the catalog has.
var errBehind = errors.New("the API is behind the catalog")

func (d *Delivery) bodyNow(ctx context.Context, k store.Key) ([]byte, int64, error) {
	d.mu.RLock()
	o := d.find(k)
	if o == nil || o.on == nil {
		d.mu.RUnlock()
		return nil, 0, store.ErrGone
	}
	hash, generation, revision, uid := o.hash, o.generation, o.revision, o.uid
	options, apiVersion := o.options, o.kind.apiVersion
	d.mu.RUnlock()
	if b := d.bodies.get(k, hash); b != nil {
		return b, generation, nil
	}
	obj, err := d.cfg.API.Get(ctx, k, apiVersion)
	if apierrors.IsNotFound(err) {
		// The catalog has it: its deletion is on its way here, or its kind is not served for the
		// moment. Left out it would never be sent.
		return nil, 0, fmt.Errorf("read %s: not found: %w", k, errBehind)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", k, err)
	}
	meta := fields.Map(obj, "metadata")
	if version, _ := strconv.ParseInt(str(meta, "resourceVersion"), 10, 64); version < revision {
		return nil, 0, fmt.Errorf("read %s: %w", k, errBehind)
	}
	if now := str(meta, "uid"); now != uid {
		return nil, 0, store.ErrGone // deleted and made anew: both writes are on their way
	}
	b, err := customize.Render(obj, d.origin(k, options, uid))
	return b, customize.Number(meta["generation"]), err
}

// Located tells where an object is. It is false for objects that are on no target.
func (d *Delivery) Located(k store.Key) (placement.Located, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return located(d.find(k))
}

// Owner is Located for an object that an owner reference names by its Kind.
func (d *Delivery) Owner(space, namespace, group, kind, name string) (placement.Located, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	k := d.kindNames[[2]string{group, kind}]
	if k == nil {
		return placement.Located{}, false
	}
	return located(
		d.find(store.Key{Space: space, Group: group, Resource: k.resource, Namespace: namespace, Name: name}),
	)
}

func located(o *object) (placement.Located, bool) {
	if o == nil || o.on == nil {
		return placement.Located{}, false
	}
	return placement.Located{
		Key:        o.key(),
		APIVersion: o.kind.apiVersion,
		Kind:       o.kind.name,
		UID:        o.uid,
		Generation: o.generation,
		Targets:    o.on.names,
		Class:      o.kind.class,
	}, true
}

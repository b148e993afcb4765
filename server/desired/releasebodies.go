package desired

import (
	"hash/fnv"
	"maps"
	"strings"
	"sync"

	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/rollout"
	"skerry.dev/skerry/store"
)

// unpackedReleases is how many unpacked contents are kept: those of the releases that are sent just now.
const unpackedReleases = 2

// unpacked keeps the last contents that were unpacked, the oldest goes first.
type unpacked struct {
	mu    sync.Mutex
	order []*catalog.Kept
	of    map[*catalog.Kept]map[store.Key]rollout.Object
}

// body returns what a release keeps of an object.
func (u *unpacked) body(r *catalog.Kept, k store.Key) (rollout.Object, error) {
	u.mu.Lock()
	defer u.mu.Unlock() // one release is unpacked at a time, for all who need it
	objects, ok := u.of[r]
	if !ok {
		content, err := rollout.Unpack(r.Packed)
		if err != nil {
			return rollout.Object{}, err
		}
		objects = make(map[store.Key]rollout.Object, len(content.Objects))
		for _, o := range content.Objects {
			objects[o.Key] = o
		}
		if u.of == nil {
			u.of = map[*catalog.Kept]map[store.Key]rollout.Object{}
		}
		if len(u.order) >= unpackedReleases {
			delete(u.of, u.order[0])
			u.order = u.order[1:]
		}
		u.of[r], u.order = objects, append(u.order, r)
	}
	o, ok := objects[k]
	if !ok {
		return o, store.ErrGone
	}
	return o, nil
}

// releasedBody is the body of an object for a target, where the release of the target has another version
// than the object has now. ok is false where it has not.
func (st *State) releasedBody(k store.Key, target string) (body []byte, generation int64, ok bool, err error) {
	st.catalog.RLock()
	o := st.catalog.Find(k)
	if o == nil || st.catalog.Rolling(o.Source) == nil {
		st.catalog.RUnlock()
		return nil, 0, false, nil
	}
	v, has := st.catalog.VersionAt(o, target)
	st.catalog.RUnlock()
	switch {
	case !has:
		return nil, 0, false, store.ErrGone
	case v.Release == nil:
		return nil, 0, false, nil
	}
	is, err := st.unpacked.body(v.Release, k)
	if err != nil {
		return nil, 0, false, err
	}
	return is.Body, is.Generation, true, nil
}

// digest is that of what of an object makes a release: all that is sent of it, but for its status, the
// count and the division of replicas of a workload, and the fields that the targets own. It is 0 where its
// Placement has no releases.
func (st *State) digest(w store.Write, m *catalog.RenderOptions) uint64 {
	if m == nil || !m.Releases {
		return 0
	}
	obj := maps.Clone(w.Object)
	delete(obj, "status")
	if placement.HasReplicas(w.Key.Group, w.Key.Resource) {
		withoutField(obj, "/spec/replicas")
	}
	for _, field := range m.Policy.RetainFields {
		withoutField(obj, field)
	}
	undivided := *m
	undivided.Division = nil
	body, err := customize.Render(obj, st.origin(w.Key, &undivided, fields.Clone(fields.Map(w.Object, "metadata"), "uid")))
	if err != nil {
		return 0 // the object itself cannot be rendered either
	}
	h := fnv.New64a()
	h.Write(body)
	return h.Sum64() | 1
}

// withoutField takes a field out of an object, of which the top level may be changed. Fields of elements of
// lists stay.
func withoutField(obj map[string]any, pointer string) {
	path := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	at := obj
	for i, name := range path {
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
		if i == len(path)-1 {
			delete(at, name)
			return
		}
		next, ok := at[name].(map[string]any)
		if !ok {
			return
		}
		next = maps.Clone(next)
		at[name] = next
		at = next
	}
}

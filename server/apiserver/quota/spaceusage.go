package quota

import (
	"hash/maphash"
	"sync"

	"golang.org/x/time/rate"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/quantity"
	"skerry.dev/skerry/store"
)

// Usage counts what each space holds and keeps it within Space.spec.quota. It follows the writes of
// all spaces. A write reserves its room first, so that concurrent requests do not exceed a quota
// together. What the center itself writes is counted and never refused.
type Usage struct {
	seed maphash.Seed

	mu      sync.Mutex
	sizes   map[uint64]uint32 // hash of a key -> bytes stored: some 25 bytes for each object
	spaces  map[string]*spaceUse
	listed  map[collection]listed
	applied int64 // every write up to this revision is in
}

// spaceUse is what one space holds, and what it may.
type spaceUse struct {
	objects, bytes, crds int64
	flying, flyingCRDs   int64 // reserved, not written yet
	limits               limits
	changed              bool // since it was shown last
	shown                bool // its Space shows it
}

// limits are those of Space.spec.quota; 0 means none.
type limits struct {
	objects, bytes, crds int64
	requests             *rate.Limiter
	perSecond            int64
	watches              int64
}

// NewUsage returns the usage of a center without objects. It must be given the writes of all
// spaces.
func NewUsage() *Usage {
	return &Usage{
		seed:   maphash.MakeSeed(),
		sizes:  map[uint64]uint32{},
		spaces: map[string]*spaceUse{},
		listed: map[collection]listed{},
	}
}

func (u *Usage) of(space string) *spaceUse {
	s := u.spaces[space]
	if s == nil {
		s = &spaceUse{}
		u.spaces[space] = s
	}
	return s
}

func (u *Usage) hash(k store.Key) uint64 { return maphash.Comparable(u.seed, k) }

func isCRD(k store.Key) bool {
	return k.Resource == "customresourcedefinitions" && k.Group == "apiextensions.k8s.io"
}

func isSpaceKey(k store.Key) bool {
	return k.Space == request.RootSpace && k.Resource == "spaces" && k.Group == v1alpha1.GroupVersion.Group
}

// Reset implements ChangeHandler.
func (u *Usage) Reset(revision int64, all store.Listing) {
	u.mu.Lock()
	defer u.mu.Unlock()
	clear(u.sizes)
	clear(u.listed)
	for _, s := range u.spaces {
		s.objects, s.bytes, s.crds, s.limits = 0, 0, 0, limits{}
	}
	for k, size := range all.Keys() {
		u.put(k, size)
	}
	for w := range all.Objects(isSpaceKey) {
		u.limit(w)
	}
	u.applied = revision
}

// Apply implements ChangeHandler.
func (u *Usage) Apply(w store.Write) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.apply(w)
	u.applied = w.Revision
}

// Progress implements ChangeHandler.
func (*Usage) Progress(int64) {}

func (u *Usage) apply(w store.Write) {
	if isSpaceKey(w.Key) {
		u.limit(w)
	}
	if w.Object == nil {
		u.drop(w.Key)
		return
	}
	u.put(w.Key, w.Size)
}

// maxFree is the size up to which the objects that every space has for its system count for nothing,
// in bytes: as large as the center makes them. What somebody writes into them counts.
const maxFree = 1024

func (u *Usage) put(k store.Key, size int) {
	if registrykey.IsDeletion(k) || registrykey.IsRecord(k) {
		return // the center's note, not the space's object
	}
	if v1alpha1.IsOfSystem(k.Group, k.Resource, k.Namespace, k.Name) && size <= maxFree {
		u.drop(k) // it may have been larger
		return
	}
	h, s := u.hash(k), u.of(k.Space)
	before, had := u.sizes[h]
	u.sizes[h] = uint32(size)
	s.bytes += int64(size) - int64(before)
	s.changed = true
	objects := int64(0)
	if !had {
		objects = 1
	}
	u.list(k, objects, int64(size)-int64(before))
	if !had {
		s.objects++
		if isCRD(k) {
			s.crds++
		}
	}
}

func (u *Usage) drop(k store.Key) {
	h := u.hash(k)
	before, had := u.sizes[h]
	if !had {
		return
	}
	s := u.of(k.Space)
	delete(u.sizes, h)
	s.objects--
	s.bytes -= int64(before)
	s.changed = true
	u.list(k, -1, -int64(before))
	if isCRD(k) {
		s.crds--
	}
	if *s == (spaceUse{changed: true}) {
		delete(u.spaces, k.Space)
	}
}

// limit sets the quota of a Space.
func (u *Usage) limit(w store.Write) {
	if w.Object == nil {
		if s := u.spaces[w.Key.Name]; s != nil {
			s.limits = limits{}
		}
		return
	}
	spec := fields.Map(w.Object, "spec")
	q := fields.Map(spec, "quota")
	if q == nil && u.spaces[w.Key.Name] == nil {
		return
	}
	s := u.of(w.Key.Name)
	next := limits{
		objects:   customize.Number(q["objects"]),
		crds:      customize.Number(q["crds"]),
		perSecond: customize.Number(q["requestsPerSecond"]),
		watches:   customize.Number(q["watches"]),
	}
	if text, ok := q["bytes"].(string); ok {
		if n, err := quantity.Parse(text); err == nil {
			next.bytes = n.Value()
		}
	} else {
		next.bytes = customize.Number(q["bytes"])
	}
	switch {
	case next.perSecond == 0:
	case next.perSecond == s.limits.perSecond:
		next.requests = s.limits.requests
	default:
		// A burst of two seconds: clients that start look at many kinds at once.
		next.requests = rate.NewLimiter(rate.Limit(next.perSecond), int(2*next.perSecond))
	}
	s.limits, s.changed = next, true
}

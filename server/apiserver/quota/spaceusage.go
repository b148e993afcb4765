package quota

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"strconv"
	"sync"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/store"
)

// Usage counts what each space holds and keeps it within Space.spec.quota. It follows the writes of all spaces. What
// is about to be written is reserved before, so that requests side by side do not exceed a quota together. What the
// center itself writes is counted and never refused.
type Usage struct {
	seed maphash.Seed

	mu      sync.Mutex
	sizes   map[uint64]uint32 // hash of a key -> bytes stored: some 25 bytes for each object
	spaces  map[string]*spaceUse
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

// NewUsage returns the usage of a center without objects. It has to be given the writes of all spaces.
func NewUsage() *Usage {
	return &Usage{seed: maphash.MakeSeed(), sizes: map[uint64]uint32{}, spaces: map[string]*spaceUse{}}
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

func (u *Usage) put(k store.Key, size int) {
	if registrykey.IsDeletion(k) {
		return // the center's note, not the space's object
	}
	h, s := u.hash(k), u.of(k.Space)
	before, had := u.sizes[h]
	u.sizes[h] = uint32(size)
	s.bytes += int64(size) - int64(before)
	s.changed = true
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
	if isCRD(k) {
		s.crds--
	}
	if *s == (spaceUse{changed: true}) {
		delete(u.spaces, k.Space)
	}
}

// limit takes over the quota of a Space.
func (u *Usage) limit(w store.Write) {
	if w.Object == nil {
		if s := u.spaces[w.Key.Name]; s != nil {
			s.limits = limits{}
		}
		return
	}
	spec, _ := w.Object["spec"].(map[string]any)
	q, _ := spec["quota"].(map[string]any)
	if q == nil && u.spaces[w.Key.Name] == nil {
		return
	}
	s := u.of(w.Key.Name)
	next := limits{objects: customize.Number(q["objects"]), crds: customize.Number(q["crds"]), perSecond: customize.Number(q["requestsPerSecond"]),
		watches: customize.Number(q["watches"])}
	if text, ok := q["bytes"].(string); ok {
		if n, err := resource.ParseQuantity(text); err == nil {
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

// Reserve makes room for a new object, or refuses. The caller says afterwards at which revision it was written, 0 if it was not.
func (u *Usage) Reserve(ctx context.Context, k store.Key) (written func(revision int64), err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.of(k.Space)
	if !request.FromCenter(ctx) {
		if what, has, may := s.full(k); what != "" {
			return nil, apierrors.NewForbidden(schema.GroupResource{Group: k.Group, Resource: k.Resource}, k.Name, errQuota(k.Space, what, has, may))
		}
	}
	s.flying++
	if isCRD(k) {
		s.flyingCRDs++
	}
	return func(revision int64) {
		u.mu.Lock()
		defer u.mu.Unlock()
		s.flying--
		if isCRD(k) {
			s.flyingCRDs--
		}
		// If the write has come back already it has been counted, and may even have been deleted again.
		if revision > u.applied {
			u.put(k, 0)
		}
	}, nil
}

// full says which limit leaves no room for one more.
func (s *spaceUse) full(k store.Key) (what string, has, may int64) {
	switch l := &s.limits; {
	case l.objects > 0 && s.objects+s.flying >= l.objects:
		return "objects", s.objects + s.flying, l.objects
	case l.bytes > 0 && s.bytes >= l.bytes:
		return "bytes", s.bytes, l.bytes
	case l.crds > 0 && isCRD(k) && s.crds+s.flyingCRDs >= l.crds:
		return "crds", s.crds + s.flyingCRDs, l.crds
	}
	return "", 0, 0
}

func errQuota(space, what string, has, may int64) error {
	return fmt.Errorf("space %s has used up spec.quota.%s (%d of %d): delete what is not needed, or ask an admin of the center for more (kubectl edit space %s, in root)",
		space, what, has, may, space)
}

// Grows refuses an update that makes an object larger in a space that has used up its bytes.
func (u *Usage) Grows(ctx context.Context, k store.Key, before, after runtime.Object) error {
	if request.FromCenter(ctx) {
		return nil
	}
	u.mu.Lock()
	s := u.spaces[k.Space]
	over := s != nil && s.limits.bytes > 0 && s.bytes >= s.limits.bytes
	var has, may int64
	if over {
		has, may = s.bytes, s.limits.bytes
	}
	u.mu.Unlock()
	if o := metadata.Of(after); !over || o == nil || o.GetDeletionTimestamp() != nil || sizeOf(after) <= sizeOf(before) {
		return nil
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: k.Group, Resource: k.Resource}, k.Name, errQuota(k.Space, "bytes", has, may))
}

// Admit returns nil for a request that is within the rate of its space, and otherwise what to answer.
func (u *Usage) Admit(space string) *metav1.Status {
	u.mu.Lock()
	var l limits
	if s := u.spaces[space]; s != nil {
		l = s.limits
	}
	u.mu.Unlock()
	if l.requests == nil || l.requests.Allow() {
		return nil
	}
	return response.TooManyRequests("space " + space + " makes more requests than spec.quota.requestsPerSecond of its Space, " + strconv.FormatInt(l.perSecond, 10) +
		"; make fewer, or ask an admin of the center for more")
}

func sizeOf(obj runtime.Object) int {
	b, err := json.Marshal(obj)
	if err != nil {
		return 0
	}
	return len(b)
}

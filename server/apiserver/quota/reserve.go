package quota

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
	"skerry.dev/skerry/store"
)

// Reserve makes room for a new object, or refuses it. The caller reports afterwards the revision of
// the write, 0 if there was none.
func (u *Usage) Reserve(ctx context.Context, k store.Key) (written func(revision int64), err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s := u.of(k.Space)
	if !request.FromCenter(ctx) {
		if what, has, may := s.full(k); what != "" {
			return nil, apierrors.NewForbidden(
				schema.GroupResource{Group: k.Group, Resource: k.Resource},
				k.Name,
				errQuota(k.Space, what, has, may),
			)
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
		// If the write has come back already it has been counted, and may even have been deleted
		// again.
		if revision > u.applied {
			u.put(k, 0)
		}
	}, nil
}

// Room is why a space may not have one more object. What the center writes is never refused; who writes
// for it by the word of a site asks here first.
func (u *Usage) Room(k store.Key) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s := u.spaces[k.Space]; s != nil {
		if what, has, may := s.full(k); what != "" {
			return errQuota(k.Space, what, has, may)
		}
	}
	return nil
}

// full returns the limit that leaves no room for one more object.
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
	return fmt.Errorf(
		"space %s has used up spec.quota.%s (%d of %d): delete what is not needed, or ask an admin of the center for "+
			"more (kubectl edit space %s, in root)",
		space,
		what,
		has,
		may,
		space,
	)
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
	if o := metadata.Of(after); !over || o == nil || o.GetDeletionTimestamp() != nil ||
		sizeOf(after) <= sizeOf(before) {
		return nil
	}
	return apierrors.NewForbidden(
		schema.GroupResource{Group: k.Group, Resource: k.Resource},
		k.Name,
		errQuota(k.Space, "bytes", has, may),
	)
}

// Admit returns nil for a request within the rate of its space, and otherwise the Status to answer
// with.
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
	return response.TooManyRequests(
		"space " + space + " makes more requests than spec.quota.requestsPerSecond of its Space, " + strconv.FormatInt(
			l.perSecond,
			10,
		) +
			"; make fewer, or ask an admin of the center for more",
	)
}

func sizeOf(obj runtime.Object) int {
	b, err := json.Marshal(obj)
	if err != nil {
		return 0
	}
	return len(b)
}

package quota

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// showEvery is how often the usage of spaces that have a quota is written to their Spaces.
const showEvery = 5 * time.Second

// Run writes the usage of Spaces to their status until ctx ends.
func (u *Usage) Run(ctx context.Context, loopback *rest.Config, log *slog.Logger) error {
	client, err := dynamic.NewForConfig(loopback)
	if err != nil {
		return err
	}
	tick := time.NewTicker(showEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		for space, used := range u.toShow() {
			if err := show(ctx, client, space, used); err != nil && ctx.Err() == nil {
				log.Debug("usage of a space not shown yet", "space", space, "err", err)
				u.again(space)
			}
		}
	}
}

// toShow returns what has changed since it was called last, of spaces that have a quota or have
// lost theirs.
func (u *Usage) toShow() map[string]spaceUse {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := map[string]spaceUse{}
	for space, s := range u.spaces {
		if s.changed && (s.limits != limits{} || s.shown) {
			out[space] = *s
			s.shown = s.limits != limits{}
		}
		s.changed = false
	}
	return out
}

func (u *Usage) again(space string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if s := u.spaces[space]; s != nil {
		s.changed, s.shown = true, true
	}
}

func show(ctx context.Context, client dynamic.Interface, space string, used spaceUse) error {
	api := client.Resource(v1alpha1.GroupVersion.WithResource("spaces"))
	obj, err := api.Get(ctx, space, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	s := &v1alpha1.Space{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, s); err != nil {
		return err
	}
	if (used.limits == limits{}) {
		s.Status.Usage = nil
		meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionWithinQuota)
	} else {
		s.Status.Usage = &v1alpha1.SpaceUsage{
			Objects: used.objects,
			Bytes:   *resource.NewQuantity(used.bytes, resource.BinarySI),
			CRDs:    used.crds,
		}
		within := metav1.Condition{
			Type:               v1alpha1.ConditionWithinQuota,
			Status:             metav1.ConditionTrue,
			Reason:             "Within",
			Message:            "there is room for more",
			ObservedGeneration: s.Generation,
		}
		if what := used.usedUp(); what != "" {
			within.Status, within.Reason = metav1.ConditionFalse, "UsedUp"
			within.Message = fmt.Sprintf(
				"spec.quota.%s is used up: nothing more can be made until something is deleted or the quota is raised",
				what,
			)
		}
		meta.SetStatusCondition(&s.Status.Conditions, within)
	}
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: m}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Space"))
	_, err = api.UpdateStatus(ctx, u, metav1.UpdateOptions{FieldManager: "skerry"})
	return err
}

// usedUp returns the limit that is reached, or "".
func (s *spaceUse) usedUp() string {
	switch l := s.limits; {
	case l.objects > 0 && s.objects >= l.objects:
		return "objects"
	case l.bytes > 0 && s.bytes >= l.bytes:
		return "bytes"
	case l.crds > 0 && s.crds >= l.crds:
		return "crds"
	}
	return ""
}

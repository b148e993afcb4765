package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/store"
)

// countLocation writes how many targets a Location has, how many of them are connected and may take
// something new, and what they have.
func (d *Delivery) countLocation(ctx context.Context, k store.Key) error {
	d.catalog.RLock()
	l := d.catalog.Locations[k.Name]
	if l == nil {
		d.catalog.RUnlock()
		return nil
	}
	now, was, revision := d.locationStatus(l), l.Status, l.Revision
	d.catalog.RUnlock()
	if equality.Semantic.DeepEqual(was, now) {
		return nil
	}
	patch, err := json.Marshal(
		map[string]any{"metadata": map[string]any{"resourceVersion": strconv.FormatInt(revision, 10)},
			"status": locationFields(was, now)},
	)
	if err != nil {
		return fmt.Errorf("encode status of %s: %w", k, err)
	}
	if _, err := d.cfg.API.Patch(ctx, k, v1alpha1.GroupVersion.String(), "status", patch); err != nil {
		return unlessGone(fmt.Errorf("write status of %s: %w", k, err))
	}
	return nil
}

// locationFields makes the status of a merge patch: what is gone of the one before is null.
func locationFields(was, now v1alpha1.LocationStatus) map[string]any {
	return mergePatch(asFields(was), asFields(now))
}

func asFields(status v1alpha1.LocationStatus) map[string]any {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return nil // numbers, quantities and a time always convert
	}
	return fields
}

// locationStatus adds up the targets of a Location. The lock must be held.
func (d *Delivery) locationStatus(l *catalog.Location) (now v1alpha1.LocationStatus) {
	for _, t := range d.catalog.Targets {
		if !l.Selector.Matches(t.Labels) {
			continue
		}
		now.Targets++
		switch {
		case !t.Connected:
			now.Stale++
			if at := t.Has.Seen; !at.IsZero() && (now.AsOf == nil || at.Before(now.AsOf.Time)) {
				now.AsOf = &metav1.Time{Time: at}
			}
		case t.Takes():
			now.Available++
		}
		now.Capacity = catalog.Plus(now.Capacity, t.Has.Capacity)
		now.Allocatable = catalog.Plus(now.Allocatable, t.Has.Allocatable)
		now.Allocated = catalog.Plus(now.Allocated, t.Has.Allocated)
	}
	return now
}

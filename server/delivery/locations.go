package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// countLocations has the targets of all Locations counted again. The lock must be held.
func (d *Delivery) countLocations() {
	for name := range d.locations {
		d.status.AddAfter(
			store.Key{Space: v1alpha1.RootSpace, Group: v1alpha1.GroupVersion.Group, Resource: "locations", Name: name},
			countDelay,
		)
	}
}

// countLocation writes how many targets a Location has, and how many of them are connected and may
// take something new.
func (d *Delivery) countLocation(ctx context.Context, k store.Key) error {
	d.mu.RLock()
	l := d.locations[k.Name]
	if l == nil {
		d.mu.RUnlock()
		return nil
	}
	var now v1alpha1.LocationStatus
	for _, t := range d.targets {
		if l.Selector.Matches(t.Labels) {
			now.Targets++
			if t.Connected && !t.Unschedulable {
				now.Available++
			}
		}
	}
	was, revision := l.status, l.revision
	d.mu.RUnlock()
	if was == now {
		return nil
	}
	patch, err := json.Marshal(
		map[string]any{"metadata": map[string]any{"resourceVersion": strconv.FormatInt(revision, 10)}, "status": now},
	)
	if err != nil {
		return fmt.Errorf("encode status of %s: %w", k, err)
	}
	if _, err := d.cfg.API.Patch(ctx, k, v1alpha1.GroupVersion.String(), "status", patch); err != nil {
		return unlessGone(fmt.Errorf("write status of %s: %w", k, err))
	}
	return nil
}

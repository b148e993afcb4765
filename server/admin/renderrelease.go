package admin

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"skerry.dev/skerry/server/api/v1alpha1"
	units "skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/rollout"
	"skerry.dev/skerry/server/scheduler"
	"skerry.dev/skerry/store"
)

// released is the object as an older release has it, nil where the target has it as it is now, or where
// who asks may not read releases.
func (r *rendering) released(ctx context.Context, target string) ([]byte, error) {
	number := r.releases[target]
	if number == 0 || r.placement == "" {
		return nil, nil
	}
	body, err := releasedBody(ctx, r.client, r.object.Key, r.placement, uint64(number))
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil, nil // later says that what is shown comes later
	}
	return body, err
}

// releasedBody reads an object of a release of a Placement.
func releasedBody(
	ctx context.Context, client dynamic.Interface, k store.Key, placement string, number uint64,
) ([]byte, error) {
	p, err := client.Resource(v1alpha1.GroupVersion.WithResource("placements")).Get(ctx, placement, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read Placement %s: %w", placement, err)
	}
	name := scheduler.ReleaseKey(k.Space, units.UnitID(p.GetUID()), number).Name
	record, err := client.Resource(v1alpha1.GroupVersion.WithResource("bindings")).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read release %d of Placement %s: %w", number, placement, err)
	}
	_, packed, err := scheduler.RawRecord(record.Object)
	if err != nil {
		return nil, fmt.Errorf("read release %d of Placement %s: %w", number, placement, err)
	}
	content, err := rollout.Unpack(packed)
	if err != nil {
		return nil, fmt.Errorf("read release %d of Placement %s: %w", number, placement, err)
	}
	i := slices.IndexFunc(content.Objects, func(o rollout.Object) bool { return o.Key == k })
	if i < 0 {
		return nil, fmt.Errorf("release %d of Placement %s does not have %s", number, placement, k)
	}
	return content.Objects[i].Body, nil
}

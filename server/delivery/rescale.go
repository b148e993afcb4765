package delivery

import (
	"context"
	"errors"
	"fmt"

	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/rollout"
	"skerry.dev/skerry/server/scheduler"
	"skerry.dev/skerry/store"
)

// misscaled are the objects of a release that targets get from its content, scaled in another way than the
// objects are now. The lock must be held.
func (d *Delivery) misscaled(release *catalog.Kept) map[store.Key]catalog.Scaled {
	out := map[store.Key]catalog.Scaled{}
	if release == nil {
		return out
	}
	for k, is := range release.Objects {
		if !placement.HasReplicas(k.Group, k.Resource) {
			continue
		}
		o := d.catalog.Find(k)
		if o == nil || o.Retired || o.UID != is.UID || o.Digest == is.Digest {
			continue // it is kept as it was, or sent as it is now
		}
		if want, ok := d.catalog.Scale(o); ok && want != is.Scaled {
			out[k] = want
		}
	}
	return out
}

// rescale records the contents of releases anew whose workloads are scaled in another way, and reports
// whether there were any: then the next step waits until they are read back.
func (d *Delivery) rescale(ctx context.Context, r *catalog.Rolled, next rollout.State) (bool, error) {
	any := false
	for _, number := range catalog.Sources(next) {
		d.catalog.RLock()
		release := r.Releases[number]
		wrong := d.misscaled(release)
		d.catalog.RUnlock()
		if len(wrong) == 0 {
			continue
		}
		content, err := rollout.Unpack(release.Packed)
		if err != nil {
			return any, err
		}
		for i := range content.Objects {
			o := &content.Objects[i]
			if to, is := wrong[o.Key]; is {
				if o.Body, err = customize.Rescale(o.Body, to.Replicas, to.Shares); err != nil {
					return any, fmt.Errorf("scale %s of release %d: %w", o.Key, number, err)
				}
				o.Replicas = to.Replicas
			}
		}
		packed, err := content.Pack()
		if errors.Is(err, rollout.ErrTooLarge) {
			r.SetProblem(d.catalog, err.Error())
			continue
		}
		if err != nil {
			return any, err
		}
		value, err := scheduler.EncodeRelease(r.Unit, r.Of, number, packed, len(content.Objects))
		if err != nil {
			return any, err
		}
		if err := d.write(ctx, scheduler.ReleaseKey(r.Space, r.Unit, number), value, release.Revision); err != nil {
			return any, err
		}
		any = true
	}
	return any, nil
}

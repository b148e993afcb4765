package apply

import (
	"context"
	"errors"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// A write whose connection was cut may be carried out after the next one. The target records fields and no
// values as ours, so an earlier version would stay there unnoticed. Therefore an update says for which
// version of the object it is: as soon as anything else is written, the target refuses it.
//
// One case is left: the next version is what the target has anyway, so that its write changes nothing.
// The object is in doubt then until it is seen in a later version.

// overtakings is how often in a row others may write an object between its reading and the write here.
const overtakings = 5

// update applies what is desired of a known object.
func (a *Applier) update(ctx context.Context, t *task) (*target.Object, error) {
	version := a.Reports.Version(t.Key, t.record.UID)
	if version == "" {
		version = t.record.ResourceVersion
	}
	for try := 1; ; try++ {
		body, on, err := a.yield(ctx, t)
		if err != nil {
			return nil, err
		}
		if on.ResourceVersion == "" {
			on.ResourceVersion = version
		}
		on.UID, on.Yield = t.record.UID, !t.policy.restores()
		live, err := a.put(ctx, t, body, on)
		if !overtaken(err) || try == overtakings {
			return live, err
		}
		found, readErr := a.find(ctx, t.client, t.resource, t.at, false)
		if readErr != nil {
			return nil, readErr
		}
		if found == nil || found.Metadata.UID != t.record.UID {
			return nil, err
		}
		version = found.Metadata.ResourceVersion
	}
}

// overtaken reports whether a write was for an earlier version of the object, or for another object.
func overtaken(err error) bool { return apierrors.IsConflict(err) && conflictsOf(err) == nil }

// put applies a body. Every write of an object but its deletion and its release goes through here.
func (a *Applier) put(ctx context.Context, t *task, body []byte, on target.Applying) (*target.Object, error) {
	// gofail: var beforeTargetWrite struct{}
	live, _, answer, err := t.writer.ApplyCompared(ctx, t.resource, t.at.Namespace, t.at.Name, body, on)
	if err == nil {
		err = t.compare(body, answer)
	}
	if err != nil && on.UID != "" && mayLand(err) {
		a.doubt(t.Key, on)
	}
	return live, err
}

// mayLand reports whether a write that failed may be carried out, now or later.
func mayLand(err error) bool {
	var status apierrors.APIStatus
	return !errors.Is(err, target.ErrNotServed) && (!errors.As(err, &status) || status.Status().Code >= 500)
}

// doubt records that an object may become what was to be applied under a condition.
func (a *Applier) doubt(k store.Key, on target.Applying) {
	version, err := strconv.ParseUint(on.ResourceVersion, 10, 64)
	if err == nil && a.unapplied(k, on.UID) {
		a.tracks.change(k, func(is *tracked) { is.doubt = version })
	}
}

// decided reports whether an object was in doubt and was now seen in a later version.
func (a *Applier) decided(k store.Key, revision uint64) (now bool) {
	a.tracks.change(k, func(is *tracked) {
		if now = is.doubt != 0 && is.doubt < revision; now {
			is.doubt = 0
		}
	})
	return now
}

// unapplied has the next look at an object write it, whatever its record says. It reports whether there is
// such a record.
func (a *Applier) unapplied(k store.Key, uid string) bool {
	return a.Inventory.Update(k, func(r inventory.Record) (inventory.Record, bool) {
		r.Applied = store.Hash{}
		return r, r.UID == uid
	})
}

package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// podAPISays is what the annotation of a workload should say of its pods' API; nothing where nobody
// has decided anything. Jobs and Pods have a mark of their own, from when they were made.
func (o *object) podAPISays() string {
	a := o.work.account
	if a.Name == "" || a.Given || a.Fixed {
		return ""
	}
	api, why := o.ns.podAPIOf(a)
	if api == placement.NoWish {
		return ""
	}
	return api.String() + ": " + why
}

// sayPodAPI has a workload's annotation written when it is not right. The lock must be held.
func (d *Delivery) sayPodAPI(o *object) {
	if o.work != nil && o.present && !o.leaving && !o.finished && o.work.said != o.podAPISays() {
		d.says.Add(o.key())
	}
}

// writePodAPI writes the annotation of one workload, when it differs.
func (d *Delivery) writePodAPI(ctx context.Context, k store.Key) error {
	d.mu.RLock()
	o := d.find(k)
	if o == nil || o.work == nil || !o.present || o.leaving || o.work.said == o.podAPISays() {
		d.mu.RUnlock()
		return nil
	}
	says, revision, apiVersion := o.podAPISays(), o.revision, o.kind.apiVersion
	d.mu.RUnlock()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": strconv.FormatInt(revision, 10),
		"annotations":     map[string]any{v1alpha1.AnnotationPodAPIUsed: orNull(says)},
	}})
	if err != nil {
		return fmt.Errorf("encode annotation: %w", err)
	}
	if _, err := d.cfg.API.Patch(ctx, k, apiVersion, "", patch); err != nil {
		return unlessGone(fmt.Errorf("say which API the pods of %s use: %w", k, err))
	}
	return nil
}

package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// PodAPI is asked by admission for every Job and Pod that users create: which API its pods are
// given, which cannot change later.
func (d *Delivery) PodAPI(space, in string, a placement.PodAccount) placement.PodAPI {
	d.catalog.RLock()
	defer d.catalog.RUnlock()
	sp := d.catalog.Spaces[space]
	if sp == nil {
		return a.Wish
	}
	n := sp.Namespaces[in]
	if n == nil {
		n = &catalog.Namespace{Space: sp, Name: in}
	}
	api, _ := n.PodAPIOf(a)
	return api
}

// RunsAs reports whether a target has a workload whose pods use the API of their space as a
// ServiceAccount: because this center gives it to them (here), or a parent has (above).
func (d *Delivery) RunsAs(target, space, namespace, account string) (here, above bool) {
	d.catalog.RLock()
	defer d.catalog.RUnlock()
	sp := d.catalog.Spaces[space]
	if sp == nil || sp.Namespaces[namespace] == nil {
		return false, false
	}
	for _, o := range sp.Namespaces[namespace].Objects {
		if o.Work == nil || o.Work.Account.Name != account || !o.Present || !o.On.Has(target) {
			continue
		}
		above = above || o.Work.Account.Given
		here = here || o.Options != nil && o.Options.Api == placement.SpaceAPI
	}
	return here, above
}

// UIDOf is the UID of a target, "" where there is none.
func (d *Delivery) UIDOf(target string) string {
	d.catalog.RLock()
	defer d.catalog.RUnlock()
	if t := d.catalog.Targets[target]; t != nil {
		return t.UID
	}
	return ""
}

// writePodAPI writes the annotation of one workload, when it differs.
func (d *Delivery) writePodAPI(ctx context.Context, k store.Key) error {
	d.catalog.RLock()
	o := d.catalog.Find(k)
	if o == nil || o.Work == nil || !o.Present || o.Leaving || o.Work.Said == o.PodAPISays() {
		d.catalog.RUnlock()
		return nil
	}
	says, revision, apiVersion := o.PodAPISays(), o.Revision, o.Kind.ApiVersion
	d.catalog.RUnlock()
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

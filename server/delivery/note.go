package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/desired"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// annotate writes the annotations of one object that are not right: where it is, and the unit that it
// is with, where no decision depends on when that is written.
func (d *Delivery) annotate(ctx context.Context, k store.Key) error {
	d.catalog.Lock() // targets are interned
	o := d.catalog.Find(k)
	if o != nil {
		desired.CloseDoors(d.State, o)
	}
	if o == nil || o.Leaving || o.Retired {
		d.catalog.Unlock()
		return nil
	}
	annotations := map[string]any{}
	want := d.catalog.WantedNote(o)
	if d.catalog.Passing(o) == binding.Later && !d.catalog.Idle(o) {
		annotations[v1alpha1.AnnotationUnit] = catalog.StampText(o.Source.ID(), o)
		if o.With == nil && catalog.Derives(o) {
			want = d.catalog.Sets.Union(o.On, o.Source.Record).Derived()
		}
	}
	if o.Note.Record() != want {
		annotations[v1alpha1.AnnotationTargets] = orNull(want)
	}
	if d.catalog.LivesOnChanged(o) {
		annotations[v1alpha1.AnnotationDependents] = orNull(d.catalog.KeptFor(o.Namespace.Space.Namespaces[o.Name]).Record())
	}
	open := placement.Event{Key: k, APIVersion: o.Kind.ApiVersion, Kind: o.Kind.Name, UID: o.UID, Reason: "StaysOpen"}
	if text, news := catalog.OpenUntil(d.catalog, o); news {
		annotations[v1alpha1.AnnotationOpenUntil] = orNull(text)
		open.Message = catalog.OpenDoorsText(catalog.OpenDoors(d.catalog, o))
	}
	revision, apiVersion := o.Revision, o.Kind.ApiVersion
	d.catalog.Unlock()
	if len(annotations) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": strconv.FormatInt(revision, 10), "annotations": annotations,
	}})
	if err != nil {
		return fmt.Errorf("encode annotation: %w", err)
	}
	// gofail: var beforeAnnotation struct{}
	if _, err := d.cfg.API.Patch(ctx, k, apiVersion, "", patch); err != nil {
		return unlessGone(fmt.Errorf("annotate %s: %w", k, err))
	}
	if open.Message != "" {
		d.cfg.Event(open)
	}
	// gofail: var annotatedBeforeForget struct{}
	return nil
}

package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// runsOnce reports whether objects of this kind run to their end. One that is made anew in the
// space is made anew here, though nothing in it differs.
func runsOnce(k store.Key) bool {
	return k.Group == "batch" && k.Resource == "jobs" || k.Group == "" && k.Resource == "pods"
}

// holdsData reports whether data goes with an object of this kind.
func holdsData(k store.Key) bool {
	return k.Group == "" && (k.Resource == "persistentvolumeclaims" || k.Resource == "persistentvolumes")
}

// madeAnew reports whether the source of a known object was deleted and created again, and the
// object may be, too.
func (t *task) madeAnew() bool {
	return t.record.OriginUID != "" && t.record.OriginUID != t.head.OriginUID() &&
		t.Key.Class() == store.ClassOther && !holdsData(t.Key)
}

// keepsFormer reports whether the target has kept of the object of an earlier source what it decides only when an
// object is made: a Service that had no address of its own gets none by an update, and an Ingress gets the
// default class at its creation alone. Nobody sees that by an error.
func (t *task) keepsFormer(live *target.Object) bool {
	var want, is struct{ ClusterIP, Type, IngressClassName string }
	if json.Unmarshal(t.head.Spec, &want) != nil || json.Unmarshal(live.Spec, &is) != nil {
		return false
	}
	switch t.Key.Group + "/" + t.Key.Resource {
	case "/services":
		return is.ClusterIP == noAddress && want.ClusterIP != noAddress && want.Type != "ExternalName"
	case "networking.k8s.io/ingresses":
		return is.IngressClassName == "" && want.IngressClassName == "" &&
			t.head.Metadata.Annotations["kubernetes.io/ingress.class"] == ""
	}
	return false
}

// noAddress is the clusterIP of a headless Service.
const noAddress = "None"

// supersede removes the object of an earlier source, into which the target refuses to turn it: a
// field differs that only a new object may have otherwise. A workload that still selects the same
// pods takes them over.
func (a *Applier) supersede(ctx context.Context, t *task, refused error) error {
	found, whole, err := t.read(ctx)
	if err != nil {
		return err
	}
	if found == nil || found.Metadata.UID != t.record.UID {
		return a.lose(t, fmt.Errorf("the object on the target is another one now: %w", refused))
	}
	if err := deleting(found); err != nil {
		return err
	}
	desired, err := t.whole()
	if err != nil {
		return err
	}
	d := target.Deletion{
		UID:            found.Metadata.UID,
		KeepDependents: t.Key.Group == "apps" && sameSelector(whole, desired),
	}
	if d.KeepDependents {
		if err := a.staying.markDependents(ctx, t.client, t.at, found); err != nil {
			return err
		}
	}
	return a.replaceBy(ctx, t, d)
}

// sameSelector reports whether two workloads select the same pods.
func sameSelector(a, b map[string]any) bool {
	of := func(o map[string]any) any {
		spec, _ := o["spec"].(map[string]any)
		return spec["selector"]
	}
	return of(a) != nil && reflect.DeepEqual(of(a), of(b))
}

// replace removes the object of a source that was deleted and created again while its tombstone was
// overtaken.
func (a *Applier) replace(ctx context.Context, t *task) error {
	return a.replaceBy(ctx, t, target.Deletion{UID: t.record.UID})
}

// replaceBy asks for the deletion and forgets the record. The retry that follows creates the object
// as soon as the earlier one is gone.
func (a *Applier) replaceBy(ctx context.Context, t *task, d target.Deletion) error {
	a.pendingDeletes.begin(t.Key, d.UID)
	_, err := t.writer.Delete(ctx, t.resource, t.at.Namespace, t.at.Name, d)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete the earlier object of this name: %w", err)
	}
	return a.lose(t, errors.New("the earlier object of this name is being removed"))
}

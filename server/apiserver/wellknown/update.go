package wellknown

import (
	"context"
	"encoding/json"
	"errors"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
)

// Update implements rest.Updater. What is not stored is changed as its readers have seen it, by the rules for
// what exists, and is stored when nothing refuses that.
func (s *Storage) Update(ctx context.Context, name string, obj rest.UpdatedObjectInfo, create rest.ValidateObjectFunc,
	update rest.ValidateObjectUpdateFunc, force bool, o *metav1.UpdateOptions) (runtime.Object, bool, error) {
	if s.Known[name] == nil {
		return s.Stored.Update(ctx, name, obj, create, update, force, o)
	}
	if stored, err := s.isStored(ctx, name); err != nil {
		return nil, false, err
	} else if stored {
		return s.Stored.Update(ctx, name, obj, create, update, force, o)
	}
	changed := &change{UpdatedObjectInfo: obj, of: s, name: name, validate: update}
	out, made, err := s.Stored.Update(ctx, name, changed, changed.validateStored, update, true, o)
	if err == nil && made && len(o.DryRun) > 0 {
		err = metadata.Import(out) // as the storage would have
	}
	return out, false, err
}

// change is an update of an object that is not stored, as the creation of a stored one. The storage may find that
// somebody else has stored it meanwhile: then it is an update.
type change struct {
	rest.UpdatedObjectInfo
	of       *Storage
	name     string
	validate rest.ValidateObjectUpdateFunc
	before   Object // as its readers have seen it; nil once it is stored
}

// Preconditions implements rest.UpdatedObjectInfo: UpdatedObject looks at them, as the storage has no object that
// they could be about.
func (*change) Preconditions() *metav1.Preconditions { return nil }

// UpdatedObject implements rest.UpdatedObjectInfo.
func (c *change) UpdatedObject(ctx context.Context, existing runtime.Object) (runtime.Object, error) {
	c.before = nil
	was, stored := existing, metadata.Of(existing).GetUID() != ""
	if !stored {
		c.before = c.of.in(ctx, c.name)
		was = c.before.DeepCopyObject()
	}
	if p := c.UpdatedObjectInfo.Preconditions(); p != nil && p.UID != nil && *p.UID != metadata.Of(was).GetUID() {
		return nil, c.conflict("the UID in the precondition is that of another object")
	}
	changed, err := c.UpdatedObjectInfo.UpdatedObject(ctx, was)
	if err != nil || stored {
		return changed, err
	}
	o := metadata.Of(changed)
	if v := o.GetResourceVersion(); v != "" && v != knownVersion {
		return nil, c.conflict(registry.OptimisticLockErrorMsg)
	}
	if err := rest.BeforeUpdate(c.of.Strategy, ctx, changed, c.before.DeepCopyObject()); err != nil {
		return nil, err
	}
	o.SetResourceVersion("")
	return changed, c.keepIdentity(o)
}

func (c *change) conflict(why string) error {
	return apierrors.NewConflict(c.of.Resource, c.name, errors.New(why))
}

// keepIdentity makes the storage keep the UID of the object, which is new there.
func (c *change) keepIdentity(o metav1.Object) error {
	if born := c.before.GetCreationTimestamp(); born.IsZero() {
		return nil
	}
	identity, err := json.Marshal(
		v1alpha1.Identity{UID: string(c.before.GetUID()), CreationTimestamp: c.before.GetCreationTimestamp()},
	)
	if err != nil {
		return err
	}
	notes := maps.Clone(o.GetAnnotations())
	if notes == nil {
		notes = map[string]string{}
	}
	notes[v1alpha1.AnnotationImport] = string(identity)
	o.SetAnnotations(notes)
	return nil
}

// validateStored validates what is about to be stored as the update that it is for who made it.
func (c *change) validateStored(ctx context.Context, obj runtime.Object) error {
	if c.validate == nil || c.before == nil {
		return nil
	}
	if err := metadata.Import(obj); err != nil {
		return err
	}
	metadata.Of(obj).SetResourceVersion(knownVersion)
	return c.validate(ctx, obj, c.before.DeepCopyObject())
}

package offers

import (
	"context"
	"errors"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/wellknown"
)

// Classes is the storage of a kind of classes. A space has those that it stores itself, and those
// that its targets offer and that no stored one hides. Who changes an offered class makes one of
// the space's own.
type Classes struct {
	wellknown.Stored
	table    *Table
	kind     string
	resource schema.GroupResource
}

// NewClasses returns the storage of a kind whose own classes are stored.
func NewClasses(t *Table, kind string, resource schema.GroupResource, stored wellknown.Stored) *Classes {
	return &Classes{stored, t, kind, resource}
}

// ShortNames implements rest.ShortNamesProvider.
func (s *Classes) ShortNames() []string {
	if short, ok := s.Stored.(rest.ShortNamesProvider); ok {
		return short.ShortNames()
	}
	return nil
}

// storedAlone reports whether a request is shown what is stored and no more: those of the center's own
// parts, which delete what they find in a space. In root they see all, so that a relay can tell its
// parent what its targets offer.
func storedAlone(ctx context.Context) bool {
	return request.FromCenter(ctx) && request.Space(ctx) != request.RootSpace
}

// offered returns the classes that the space of a request is offered, by name.
func (s *Classes) offered(ctx context.Context) map[string]wellknown.Object {
	targets, _ := s.table.of(ctx)
	return s.objects(request.Space(ctx), targets)
}

func (s *Classes) objects(space string, targets []*target) map[string]wellknown.Object {
	out := map[string]wellknown.Object{}
	for name, o := range offersOf(s.kind, targets) {
		out[name] = o.object(space, len(targets))
	}
	return out
}

// Get implements rest.Getter.
func (s *Classes) Get(ctx context.Context, name string, o *metav1.GetOptions) (runtime.Object, error) {
	obj, err := s.Stored.Get(ctx, name, o)
	if !apierrors.IsNotFound(err) || storedAlone(ctx) {
		return obj, err
	}
	if class := s.offered(ctx)[name]; class != nil {
		return class, nil
	}
	return obj, err
}

// List implements rest.Lister. Offered classes are on the last page. The center's own parts see what
// is stored.
func (s *Classes) List(ctx context.Context, o *internalversion.ListOptions) (runtime.Object, error) {
	list, err := s.Stored.List(ctx, o)
	if err != nil || storedAlone(ctx) {
		return list, err
	}
	about, err := meta.ListAccessor(list)
	if err != nil || about.GetContinue() != "" {
		return list, err
	}
	shown, err := s.shown(ctx, o)
	if err != nil || len(shown) == 0 {
		return list, err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	for _, class := range shown {
		items = append(items, class)
	}
	return list, meta.SetList(list, items)
}

// shown returns the offered classes that the options select and that nothing stored hides.
func (s *Classes) shown(ctx context.Context, o *internalversion.ListOptions) ([]wellknown.Object, error) {
	offered := s.offered(ctx)
	byLabel, byField := labels.Everything(), fields.Everything()
	if o != nil && o.LabelSelector != nil {
		byLabel = o.LabelSelector
	}
	if o != nil && o.FieldSelector != nil {
		byField = o.FieldSelector
	}
	var out []wellknown.Object
	for _, name := range slices.Sorted(maps.Keys(offered)) {
		if !byLabel.Matches(labels.Set{}) || !byField.Matches(fields.Set{"metadata.name": name}) {
			continue
		}
		_, err := s.Stored.Get(ctx, name, &metav1.GetOptions{ResourceVersion: "0"})
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		if err != nil {
			out = append(out, offered[name])
		}
	}
	return out, nil
}

// Watch implements rest.Watcher.
func (s *Classes) Watch(ctx context.Context, o *internalversion.ListOptions) (watch.Interface, error) {
	if storedAlone(ctx) {
		return s.Stored.Watch(ctx, o)
	}
	begins, err := beginsAt(o)
	if err != nil {
		return nil, err
	}
	in, err := s.Stored.Watch(ctx, o)
	if err != nil {
		return nil, err
	}
	w, err := s.table.watchClasses(ctx, in, begins)
	if err != nil {
		in.Stop()
		return nil, err
	}
	var first []wellknown.Object
	if begins.initial { // from now on the watch is told of changes
		if first, err = s.shown(ctx, o); err != nil {
			w.Stop()
			return nil, err
		}
	}
	space := request.Space(ctx)
	go w.run(first, func(name string) wellknown.Object {
		s.table.mu.Lock()
		targets := s.table.listLocked(space)
		s.table.mu.Unlock()
		return s.objects(space, targets)[name]
	})
	return w, nil
}

// Update implements rest.Updater. An offered class that is changed becomes one of the space's own.
func (s *Classes) Update(ctx context.Context, name string, obj rest.UpdatedObjectInfo, create rest.ValidateObjectFunc,
	update rest.ValidateObjectUpdateFunc, force bool, o *metav1.UpdateOptions) (runtime.Object, bool, error) {
	if class := s.offered(ctx)[name]; class != nil {
		_, err := s.Stored.Get(ctx, name, &metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return s.Stored.Update(ctx, name, ownedFrom{obj, class}, create, update, true, o)
		}
	}
	return s.Stored.Update(ctx, name, obj, create, update, force, o)
}

// ownedFrom is an update of an offered class, as the creation of one of the space's own.
type ownedFrom struct {
	rest.UpdatedObjectInfo
	class wellknown.Object
}

// Preconditions implements rest.UpdatedObjectInfo: nothing is stored that they could be about.
func (ownedFrom) Preconditions() *metav1.Preconditions { return nil }

// UpdatedObject implements rest.UpdatedObjectInfo.
func (u ownedFrom) UpdatedObject(ctx context.Context, _ runtime.Object) (runtime.Object, error) {
	changed, err := u.UpdatedObjectInfo.UpdatedObject(ctx, u.class.DeepCopyObject())
	if err != nil {
		return nil, err
	}
	o := metadata.Of(changed)
	o.SetResourceVersion("")
	o.SetUID("")
	notes := maps.Clone(o.GetAnnotations())
	delete(notes, v1alpha1.AnnotationOfferedBy)
	delete(notes, v1alpha1.AnnotationOffersDiffer)
	o.SetAnnotations(notes)
	return changed, nil
}

// Delete implements rest.GracefulDeleter.
func (s *Classes) Delete(
	ctx context.Context,
	name string,
	validate rest.ValidateObjectFunc,
	o *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	obj, now, err := s.Stored.Delete(ctx, name, validate, o)
	if !apierrors.IsNotFound(err) {
		return obj, now, err
	}
	if s.offered(ctx)[name] != nil {
		return nil, false, apierrors.NewForbidden(s.resource, name, errors.New(
			"it only shows what targets offer ("+v1alpha1.AnnotationOfferedBy+"), and cannot be deleted here"))
	}
	return obj, now, err
}

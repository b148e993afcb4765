package wellknown

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/rest"

	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
)

// Storage is the storage of a kind of which every space has some objects without storing them: they
// come from memory, one set for all spaces. A stored object hides the well-known one of its name. A
// well-known object that somebody changes is stored as it is to be.
type Storage struct {
	Stored
	Plain    rest.StandardStorage // below the rules about who may give away what
	Strategy rest.RESTUpdateStrategy
	Resource schema.GroupResource
	Known    map[string]Object
	Born     Birth
}

// Stored is what the generic API server uses of a storage of cluster-scoped objects.
type Stored interface {
	rest.Storage
	rest.StandardStorage
	rest.Scoper
	rest.SingularNameProvider
	rest.StorageVersionProvider
}

// Object is what a Storage shows: an object of a kind that is in no namespace.
type Object interface {
	runtime.Object
	metav1.Object
}

// knownVersion is the resource version of objects that are not stored. The store never gives it to
// an object.
const knownVersion = "1"

// Birth returns when the space of a request was created. Its well-known objects show that as their
// age.
type Birth func(ctx context.Context) metav1.Time

// in returns a well-known object as the space of the context shows it.
func (s *Storage) in(ctx context.Context, name string) Object {
	out := s.Known[name].DeepCopyObject().(Object)
	out.SetUID(
		types.UID(
			uuid.NewSHA1(uuid.NameSpaceURL, []byte(request.Space(ctx)+"/"+s.Resource.String()+"/"+name)).String(),
		),
	)
	out.SetCreationTimestamp(s.Born(ctx))
	out.SetResourceVersion(knownVersion)
	return out
}

// ShortNames implements rest.ShortNamesProvider.
func (s *Storage) ShortNames() []string {
	if short, ok := s.Stored.(rest.ShortNamesProvider); ok {
		return short.ShortNames()
	}
	return nil
}

// Get implements rest.Getter.
func (s *Storage) Get(ctx context.Context, name string, o *metav1.GetOptions) (runtime.Object, error) {
	obj, err := s.Stored.Get(ctx, name, o)
	if apierrors.IsNotFound(err) && s.Known[name] != nil && request.Space(ctx) != request.AllSpaces {
		return s.in(ctx, name), nil
	}
	return obj, err
}

// List implements rest.Lister.
func (s *Storage) List(ctx context.Context, o *internalversion.ListOptions) (runtime.Object, error) {
	if o != nil && o.Limit > 0 && request.Space(ctx) != request.AllSpaces {
		if from, ok := parseKnownPage(o.Continue); ok || o.Continue == "" {
			return s.page(ctx, o, from)
		}
	}
	list, err := s.Stored.List(ctx, o)
	if err != nil || request.Space(ctx) == request.AllSpaces || o != nil && o.Continue != "" {
		return list, err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	shown, err := s.shown(ctx, o)
	if err != nil {
		return nil, err
	}
	for _, obj := range shown {
		items = append(items, obj)
	}
	slices.SortFunc(items, func(a, b runtime.Object) int {
		return compareNames(metadata.Of(a), metadata.Of(b))
	})
	return list, meta.SetList(list, items)
}

func compareNames(a, b metav1.Object) int {
	switch {
	case a.GetName() < b.GetName():
		return -1
	case a.GetName() > b.GetName():
		return 1
	}
	return 0
}

// shown returns the well-known objects that the options select and that nothing stored hides.
func (s *Storage) shown(ctx context.Context, o *internalversion.ListOptions) ([]Object, error) {
	byLabel, byField := labels.Everything(), fields.Everything()
	if o != nil && o.LabelSelector != nil {
		byLabel = o.LabelSelector
	}
	if o != nil && o.FieldSelector != nil {
		byField = o.FieldSelector
	}
	var out []Object
	for _, name := range slices.Sorted(maps.Keys(s.Known)) {
		if !byLabel.Matches(labels.Set(s.Known[name].GetLabels())) ||
			!byField.Matches(fields.Set{"metadata.name": name}) {
			continue
		}
		hidden, err := s.isStored(ctx, name)
		if err != nil {
			return nil, err
		}
		if !hidden {
			out = append(out, s.in(ctx, name))
		}
	}
	return out, nil
}

func (s *Storage) isStored(ctx context.Context, name string) (bool, error) {
	_, err := s.Plain.Get(ctx, name, &metav1.GetOptions{ResourceVersion: "0"})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// Watch implements rest.Watcher.
func (s *Storage) Watch(ctx context.Context, o *internalversion.ListOptions) (watch.Interface, error) {
	in, err := s.Stored.Watch(ctx, o)
	if err != nil || request.Space(ctx) == request.AllSpaces {
		return in, err
	}
	var first []Object
	if beginsWithAll(o) {
		if first, err = s.shown(ctx, o); err != nil {
			in.Stop()
			return nil, err
		}
	}
	return watchWithKnown(in, first, func(name string) Object {
		if s.Known[name] == nil {
			return nil
		}
		return s.in(ctx, name)
	}), nil
}

// beginsWithAll reports whether a watch begins with the existing objects.
func beginsWithAll(o *internalversion.ListOptions) bool {
	if o != nil && o.SendInitialEvents != nil {
		return *o.SendInitialEvents
	}
	return o == nil || o.ResourceVersion == "" || o.ResourceVersion == "0"
}

// Create implements rest.Creater.
func (s *Storage) Create(
	ctx context.Context,
	obj runtime.Object,
	validate rest.ValidateObjectFunc,
	o *metav1.CreateOptions,
) (runtime.Object, error) {
	if name := metadata.Of(obj).GetName(); s.Known[name] != nil && !request.FromCenter(ctx) {
		return nil, apierrors.NewAlreadyExists(s.Resource, name)
	}
	return s.Stored.Create(ctx, obj, validate, o)
}

// Delete implements rest.GracefulDeleter.
func (s *Storage) Delete(
	ctx context.Context,
	name string,
	validate rest.ValidateObjectFunc,
	o *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	obj, now, err := s.Stored.Delete(ctx, name, validate, o)
	if apierrors.IsNotFound(err) && s.Known[name] != nil {
		return nil, false, apierrors.NewForbidden(
			s.Resource,
			name,
			errors.New("every space has this object; it cannot be deleted"),
		)
	}
	return obj, now, err
}

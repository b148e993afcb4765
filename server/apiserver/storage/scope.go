package storage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
)

// scope puts the space into the context.
func (s *spaceStorage) scope(ctx context.Context) (context.Context, error) {
	space := request.Space(ctx)
	switch {
	case space == "" && s.only != "":
		return request.WithSpace(ctx, s.only), nil
	case space == "":
		return nil, request.ErrNoSpace
	case s.only != "" && space != s.only && !s.lends(space):
		return nil, fmt.Errorf("a request in space %q reached the custom resources of %q", space, s.only)
	}
	return ctx, nil
}

// lends reports whether the space of the custom resources borrows their definition.
func (s *spaceStorage) lends(space string) bool {
	return s.all != nil && s.all.config.Lending.Lender(space, GroupIn("/apis"+s.prefix)) == s.only
}

// lendsOrBorrows reports whether a write may concern a loan: of Spaces, of definitions, and of
// objects of borrowers.
func (s *spaceStorage) lendsOrBorrows(ctx context.Context) bool {
	lender := s.definer(ctx)
	return s.prefix == registrykey.SpacesPath || s.resource() == registrykey.CRDs ||
		lender != "" && request.Space(ctx) != lender
}

// definer returns the space whose definition the stored objects have, "" if they are no custom
// resources of a space.
func (s *spaceStorage) definer(ctx context.Context) string {
	return cmp.Or(s.only, request.Definer(ctx))
}

// resource returns the group and resource of the stored objects.
func (s *spaceStorage) resource() schema.GroupResource {
	group, resource, _ := strings.Cut(strings.TrimPrefix(s.prefix, "/"), "/")
	return schema.GroupResource{Group: group, Resource: resource}
}

// key returns where to go, and the key there.
func (s *spaceStorage) key(ctx context.Context, key string) (context.Context, storage.Interface, string, error) {
	ctx, err := s.scope(ctx)
	if err != nil {
		return nil, nil, "", fmt.Errorf("%w (key %q)", err, key)
	}
	if !strings.HasPrefix(key, "/") {
		key = "/" + key
	}
	rest, ok := strings.CutPrefix(key, s.prefix)
	if !ok || (rest != "" && rest[0] != '/') {
		return nil, nil, "", fmt.Errorf("key %q is not below %q", key, s.prefix)
	}
	space := request.Space(ctx)
	switch {
	case space == request.AllSpaces:
		// Anything longer would be read as the name of a space.
		if strings.Trim(rest, "/") != "" {
			return nil, nil, "", fmt.Errorf("only whole resources can be read across spaces, not %q", key)
		}
		return ctx, s.raw, key, nil
	case slices.ContainsFunc(strings.Split(rest, "/"), func(s string) bool { return s == "." || s == ".." }):
		return nil, nil, "", apierrors.NewBadRequest(
			"a name or namespace in the path is '.' or '..', which nothing can be called",
		)
	case rest == "":
		rest = "/" // the trailing slash keeps space "team" out of "team-b"
	}
	return ctx, s.Interface, s.prefix + "/" + space + rest, nil
}

// one is key for operations on a single object, which must name their space.
func (s *spaceStorage) one(ctx context.Context, key string) (context.Context, storage.Interface, string, error) {
	if request.Space(ctx) == request.AllSpaces {
		return nil, nil, "", fmt.Errorf("%q needs one space", key)
	}
	return s.key(ctx, key)
}

// mayCreate refuses objects in a space that is gone, where they would stay: of a request that came
// before the deletion, or of the center itself.
func (s *spaceStorage) mayCreate(space string) error {
	if s.exists == nil || space == request.OwnSpace || s.exists(space) {
		return nil
	}
	return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("spaces").GroupResource(), space)
}

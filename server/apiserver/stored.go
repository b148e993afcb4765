package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/server/apiserver/storage"
	"skerry.dev/skerry/store"
)

// Changes gives h every object of every space, and from then on every write in the order of
// revisions, from one watch on the store. It returns when ctx ends, or when something stored cannot
// be decoded: leaving it out would look like its deletion.
func (s *Server) Changes(ctx context.Context, h storage.ChangeHandler) error {
	return s.storages.Changes(ctx, h)
}

// Keys lists everything that is stored in a space. It reads all keys of the center: it is for rare
// questions, like whether a space may be deleted.
func (s *Server) Keys(ctx context.Context, space string) ([]store.Key, error) {
	return s.storages.Keys(ctx, space)
}

// Room is why a space may not have one more object, by the quota of its Space; nil where it may.
func (s *Server) Room(k store.Key) error { return s.usage.Room(k) }

// Namespaces lists the namespaces of a space as they are stored now.
func (s *Server) Namespaces(ctx context.Context, space string) ([]string, error) {
	return s.storages.Namespaces(ctx, space)
}

// Purge deletes everything that is stored in a space, finalizers or not, and tells after each
// object how many are left. Watchers see each deletion.
func (s *Server) Purge(ctx context.Context, space string, progress func(left int)) error {
	return s.storages.Purge(ctx, space, progress)
}

// StoredBelow is the prefix of the keys under which objects of a resource are stored, in all
// spaces.
func (s *Server) StoredBelow(gr schema.GroupResource) string { return s.storages.StoredBelow(gr) }

// Borrowers lists the spaces that borrow definitions of a space at this moment.
func (s *Server) Borrowers(ctx context.Context, space string) ([]string, error) {
	return s.check.Borrowers(ctx, space)
}

// CustomServers returns how many spaces' custom resources are being served, the center's own left
// out.
func (s *Server) CustomServers() int { return s.crds.Count() }

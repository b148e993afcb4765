package storage

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/share"
	"skerry.dev/skerry/store/kine"
)

// spaceStorage puts the space of the request's context between a resource's prefix and the rest of
// the key. It stands under every REST storage, the status and scale ones included, so nothing
// reaches the database without a space.
type spaceStorage struct {
	storage.Interface                   // the cache of all spaces, or the raw storage where there is none
	raw               storage.Interface // readers across spaces go past the cache, so that it may strip keys
	prefix            string            // "/deployments"
	// newest is the newest write of the resource, nil where there is no cache.
	newest *kine.Watermark
	// shared has the watches of the store, nil where there is a cache.
	shared *storeWatches
	// only is the one space of custom resources that are served for one space. Upstream deletes
	// those of a definition that goes away with a context of its own, which names no space. Besides
	// it there are the spaces that borrow the definition.
	only string
	// exists reports whether there is such a space; nil is that there are all.
	exists func(space string) bool
	all    *Storages
}

func (s *spaceStorage) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	ctx, to, k, err := s.one(ctx, key)
	if err != nil {
		return err
	}
	written, err := s.admitNew(ctx, k, obj)
	if err != nil {
		return err
	}
	traced := s.traced(ctx, k)
	err = to.Create(ctx, k, obj, out, ttl)
	written(revisionOf(out, err))
	traced(revisionOf(out, err))
	if err != nil {
		return withoutSpace(err, key)
	}
	return s.agreed(ctx, to, k, nil, out)
}

// admitNew makes room for a new object and prepares it for storage, or refuses it. The caller
// reports afterwards the revision of the write, 0 if there was none.
func (s *spaceStorage) admitNew(
	ctx context.Context,
	key string,
	obj runtime.Object,
) (written func(revision int64), err error) {
	if err := s.mayCreate(request.Space(ctx)); err != nil {
		return nil, err
	}
	if err := metadata.Import(obj); err != nil {
		return nil, err
	}
	metadata.TrimReported(ctx, obj)
	if parsed, known := s.all.parse(key); known {
		return s.all.config.Quota.Reserve(ctx, parsed)
	}
	return func(int64) {}, nil
}

// withoutSpace puts the key that was asked for into an error: users must not see the store's key.
// An object that is larger than the store takes is an error of the user, not of the server.
func withoutSpace(err error, key string) error {
	if told := inTrouble(err); told != nil {
		return told
	}
	if grpcstatus.Code(err) == codes.ResourceExhausted {
		return apierrors.NewRequestEntityTooLargeError(grpcstatus.Convert(err).Message() +
			", with its status and its managedFields: split the object, or write it by fewer field managers")
	}
	if known, ok := err.(*storage.StorageError); ok {
		if storage.IsInvalidObj(err) {
			return apierrors.NewConflict(resourceIn(key), path.Base(key),
				fmt.Errorf("%w. It was changed, or deleted and made anew: read it again", errors.Unwrap(known)))
		}
		told := *known
		told.Key = key
		return &told
	}
	return err
}

// resourceIn returns the resource of a key that was asked for: /RESOURCE/... or /GROUP/RESOURCE/...
func resourceIn(key string) schema.GroupResource {
	first, rest, _ := strings.Cut(strings.TrimPrefix(key, "/"), "/")
	if !strings.Contains(first, ".") {
		return schema.GroupResource{Resource: first}
	}
	resource, _, _ := strings.Cut(rest, "/")
	return schema.GroupResource{Group: first, Resource: resource}
}

// revisionOf returns the revision of an object that has been written, 0 if it was not.
func revisionOf(out runtime.Object, err error) int64 {
	o := metadata.Of(out)
	if err != nil || o == nil {
		return 0
	}
	n, _ := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	return n
}

func (s *spaceStorage) Delete(ctx context.Context, key string, out runtime.Object, p *storage.Preconditions,
	validate storage.ValidateObjectFunc, cached runtime.Object, o storage.DeleteOptions) error {
	ctx, to, k, err := s.one(ctx, key)
	if err != nil {
		return err
	}
	traced := s.traced(ctx, k)
	err = to.Delete(ctx, k, out, p, validate, cached, o)
	traced(revisionOf(out, err))
	if err != nil {
		return withoutSpace(err, key)
	}
	clearKey(out)
	return nil
}

func (s *spaceStorage) Get(ctx context.Context, key string, o storage.GetOptions, out runtime.Object) error {
	ctx, to, k, err := s.one(ctx, key)
	if err != nil {
		return err
	}
	if err := to.Get(ctx, k, o, out); err != nil {
		return withoutSpace(err, key)
	}
	clearKey(out)
	return nil
}

func (s *spaceStorage) GetList(ctx context.Context, key string, o storage.ListOptions, out runtime.Object) error {
	if request.Space(ctx) == "" &&
		s.only != "" { // upstream, about to let a definition go: only when nothing is made of it any more
		if err := s.all.config.Lending.Unused(ctx, s.only, s.resource()); err != nil {
			return err
		}
	}
	ctx, to, k, err := s.key(ctx, key)
	if err != nil {
		return err
	}
	if err := s.list(ctx, to, k, o, out); err != nil {
		if told := inTrouble(err); told != nil {
			return told
		}
		return err
	}
	if request.Space(ctx) != request.AllSpaces {
		clearKey(out)
	}
	return nil
}

func (s *spaceStorage) GuaranteedUpdate(ctx context.Context, key string, out runtime.Object, ignoreNotFound bool,
	p *storage.Preconditions, update storage.UpdateFunc, cached runtime.Object) error {
	ctx, to, k, err := s.one(ctx, key)
	if err != nil {
		return err
	}
	var old runtime.Object
	written := func(int64) {}
	stripped := func(in runtime.Object, m storage.ResponseMeta) (runtime.Object, *uint64, error) {
		clearKey(in)
		written(0) // what a try before this one was about to
		written, old = func(int64) {}, nil
		isNew := m.ResourceVersion == 0 // server-side apply makes what is not there
		if !isNew && s.lendsOrBorrows(ctx) {
			old = in.DeepCopyObject()
		}
		next, ttl, err := update(in, m)
		if err != nil {
			return next, ttl, err
		}
		if isNew {
			reserved, err := s.admitNew(ctx, k, next)
			if err == nil {
				written = reserved
			}
			return next, ttl, err
		}
		metadata.TrimReported(ctx, next)
		if parsed, known := s.all.parse(k); known {
			err = s.all.config.Quota.Grows(ctx, parsed, in, next)
		}
		return next, ttl, err
	}
	traced := s.traced(ctx, k)
	err = to.GuaranteedUpdate(ctx, k, out, ignoreNotFound, p, stripped, cached)
	written(revisionOf(out, err))
	traced(revisionOf(out, err))
	if err != nil {
		return withoutSpace(err, key)
	}
	clearKey(out)
	return s.agreed(ctx, to, k, old, out)
}

func (s *spaceStorage) Watch(ctx context.Context, key string, o storage.ListOptions) (watch.Interface, error) {
	ctx, to, k, err := s.key(ctx, key)
	if err != nil {
		return nil, err
	}
	if request.Space(ctx) == request.AllSpaces {
		return to.Watch(ctx, k, o)
	}
	var h *holding
	is := share.WatchOf(ctx)
	if is != nil && s.all != nil {
		h = s.holdEvents(is, request.Space(ctx))
	}
	if s.shared == nil { // the cache sends bookmarks by itself
		w, err := to.Watch(ctx, k, o)
		if err != nil {
			return nil, err
		}
		return stripKeys(ctx, w, false, h), nil
	}
	if is != nil && (o.ResourceVersion == "" || o.ResourceVersion == "0") {
		is.Lists = true
	}
	w, err := s.watchStore(ctx, k, o, h)
	if err != nil {
		return nil, err
	}
	return stripKeys(ctx, w, true, h), nil
}

// plainList hides from the cache's reflector that its storage could stream the initial list: the
// reflector would collect it by namespace and name alone, and lose objects of equal names in
// different spaces.
type plainList struct{ storage.Interface }

func (plainList) IsWatchListSemanticsUnSupported() bool { return true }

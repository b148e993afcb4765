package storage

import (
	"context"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"skerry.dev/skerry/server/apiserver/request"
)

// list reads a list. A list as of now comes from the cache, too, once the cache has seen the newest
// write of the resource: then it has every acknowledged write. Upstream would ask the store for its
// global revision and wait for that, which takes up to a second here, or read the database. If the
// newest write is unknown, or does not come in time, list reads the database.
func (s *spaceStorage) list(
	ctx context.Context,
	to storage.Interface,
	key string,
	o storage.ListOptions,
	out runtime.Object,
) error {
	asOfNow := o.ResourceVersion == "" && o.ResourceVersionMatch == "" && o.Predicate.Continue == ""
	if s.newest == nil || !asOfNow || request.Space(ctx) == request.AllSpaces {
		return to.GetList(ctx, key, o, out)
	}
	revision, known := s.newest.Revision()
	if !known {
		return s.raw.GetList(ctx, key, o, out)
	}
	cached := o
	// 0 would mean any age, and a list without pages.
	cached.ResourceVersion, cached.ResourceVersionMatch = strconv.FormatInt(
		max(revision, 1),
		10,
	), metav1.ResourceVersionMatchNotOlderThan
	err := to.GetList(ctx, key, cached, out)
	if storage.IsTooLargeResourceVersion(err) || apierrors.IsTooManyRequests(err) {
		return s.raw.GetList(ctx, key, o, out)
	}
	return err
}

package storage

import (
	"context"

	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serverstorage "k8s.io/apiserver/pkg/server/storage"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/kine"
	"skerry.dev/skerry/tunnel/tracing"
)

// Config is what the storages of all resources are made of.
type Config struct {
	// Factory knows where and in which version each built-in kind is stored.
	Factory serverstorage.StorageFactory
	// Client is the client of the store.
	Client *kubernetes.Client
	// Encryption encrypts what is stored.
	Encryption Encryption
	// Exists reports whether a space exists.
	Exists func(space string) bool
	// Newest returns the newest write below a prefix of keys.
	Newest func(prefix string) *kine.Watermark
	// Quota counts what spaces hold.
	Quota Quota
	// Lending knows which spaces lend each other definitions.
	Lending Lending
	// Trace follows the writes of requests that are sampled; nil follows none.
	Trace *tracing.Follower
	// Unserved are kinds that are not served, which need no cache.
	Unserved []schema.GroupVersionResource
}

// Quota keeps spaces within what they may hold.
type Quota interface {
	// Reserve makes room for a new object, or refuses it. The caller reports afterwards the revision
	// of the write, 0 if there was none.
	Reserve(ctx context.Context, k store.Key) (written func(revision int64), err error)
	// Grows refuses an update that makes an object larger in a space that has used up its bytes.
	Grows(ctx context.Context, k store.Key, before, after runtime.Object) error
	// Size returns how many bytes of an object are stored, 0 if that is not known yet.
	Size(k store.Key) int64
	// Seen returns the revision up to which every write has been counted.
	Seen() int64
}

// Lending knows which spaces are served with the definitions of another one.
type Lending interface {
	// Lender returns the space whose definitions of a group serve the given space, "" if it has its
	// own.
	Lender(space, group string) string
	// Unused returns an error while borrowers have objects of a definition.
	Unused(ctx context.Context, lender string, r schema.GroupResource) error
	// Written checks a write that has been stored. next is what is stored now, and old what was
	// before, nil for nothing. definer is the space whose definition a custom resource has, "" for
	// other resources.
	Written(ctx context.Context, definer string, r schema.GroupResource, old, next runtime.Object) error
	// PutBack restores in an object what the borrower and the lender had agreed on before.
	PutBack(in, old runtime.Object) error
}

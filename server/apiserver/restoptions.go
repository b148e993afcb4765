package apiserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"

	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/kine"
)

// storagesConfig is what the storages of all resources are made of.
type storagesConfig struct {
	// Factory knows where and in which version each built-in kind is stored.
	Factory serverstorage.StorageFactory
	// Client is the client of the store.
	Client *kubernetes.Client
	// Encryption encrypts what is stored.
	Encryption Encryption
	// Exists reports whether there is a space.
	Exists func(space string) bool
	// Newest returns the newest write below a prefix of keys.
	Newest func(prefix string) *kine.Watermark
	// Quota counts what spaces hold.
	Quota storageQuota
	// Lending knows which spaces lend each other definitions.
	Lending storageLending
	// Unserved are kinds that are not served, which need no cache.
	Unserved []schema.GroupVersionResource
}

// storageQuota keeps spaces within what they may hold.
type storageQuota interface {
	// reserve makes room for a new object, or refuses it. The caller says afterwards at which revision the object was written, 0 if it was not.
	reserve(ctx context.Context, k store.Key) (written func(revision int64), err error)
	// grows refuses an update that makes an object larger in a space that has used up its bytes.
	grows(ctx context.Context, k store.Key, before, after runtime.Object) error
	// size returns how many bytes are stored of an object, 0 where that is not known yet.
	size(k store.Key) int64
	// seen returns the revision up to which every write has been counted.
	seen() int64
}

// storageLending knows which spaces are served with the definitions of another one.
type storageLending interface {
	// Lender returns the space whose definitions of a group serve another one, "" when it has its own.
	Lender(space, group string) string
	// Unused refuses to let a definition go that objects of a borrower are made of.
	Unused(ctx context.Context, lender string, r schema.GroupResource) error
	// Written looks again after a write: next is what is stored now, old what was before, nil for nothing. definer is whose definition a custom resource is made of.
	Written(ctx context.Context, definer string, r schema.GroupResource, old, next runtime.Object) error
	// PutBack gives an object what the borrower and the lender had agreed on before.
	PutBack(in, old runtime.Object) error
}

// newStorages returns the storages of all spaces. They have no resources yet.
func newStorages(c storagesConfig) *storages {
	return &storages{storagesConfig: c, recent: newRecent(), native: map[string]schema.GroupResource{}}
}

// storages makes the storage of every resource: one etcd client, one cache over all spaces, the space in the key.
type storages struct {
	storagesConfig
	history history
	recent  *recent

	mu      sync.Mutex
	native  map[string]schema.GroupResource // resource prefix without slashes around -> resource
	cachers []*cacher.Cacher
}

// GetRESTOptions implements generic.RESTOptionsGetter for the built-in kinds.
func (s *storages) GetRESTOptions(gr schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	config, err := s.Factory.NewConfig(gr, example)
	if err != nil {
		return generic.RESTOptions{}, fmt.Errorf("storage of %s: %w", gr, err)
	}
	prefix := s.Factory.ResourcePrefix(gr)
	s.noteNative(prefix, gr)
	return options(config, prefix, s.decorate(s.isCached(gr), "")), nil
}

// isCached leaves Events out of the caches, as upstream does: they are many, short-lived and hardly read. So are kinds that are not served.
func (s *storages) isCached(gr schema.GroupResource) bool {
	return gr.Resource != "events" && !slices.ContainsFunc(s.Unserved, func(r schema.GroupVersionResource) bool { return r.GroupResource() == gr })
}

// noteNative remembers the prefix of a built-in kind, so that Changes can tell what a key is.
func (s *storages) noteNative(prefix string, gr schema.GroupResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.native[strings.Trim(prefix, "/")] = gr
}

// parse tells what a storage key is, given without the prefix of all keys.
func (s *storages) parse(key string) (store.Key, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return registrykey.Parse(s.native, registrykey.Prefix+key)
}

// withCodec returns the options of a resource that is stored by a codec of its own: CustomResourceDefinitions and their objects. They
// may belong to one space only.
func (s *storages) withCodec(gr schema.GroupResource, codec runtime.Codec, cached bool, only string) generic.RESTOptions {
	config := &storagebackend.ConfigForResource{
		Config:        storagebackend.Config{Prefix: registrykey.Prefix, Codec: codec, EventsHistoryWindow: cacher.DefaultEventFreshDuration},
		GroupResource: gr,
	}
	return options(config, "/"+gr.Group+"/"+gr.Resource, s.decorate(cached, only))
}

// options lets deletions with a propagation policy wait for the center's garbage collector.
func options(config *storagebackend.ConfigForResource, prefix string, d generic.StorageDecorator) generic.RESTOptions {
	return generic.RESTOptions{StorageConfig: config, Decorator: d, DeleteCollectionWorkers: 1, ResourcePrefix: prefix,
		EnableGarbageCollection: true}
}

func (s *storages) decorate(cached bool, only string) generic.StorageDecorator {
	return func(config *storagebackend.ConfigForResource, prefix string, _ func(runtime.Object) (string, error),
		newFunc, newListFunc func() runtime.Object, attrs storage.AttrFunc, trigger storage.IndexerFuncs,
		indexers *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
		prefix = "/" + strings.Trim(prefix, "/")
		codec := keyCodec{config.Codec, &storageName{prefix}, s.recent}
		versioner := storage.APIObjectVersioner{}
		raw, err := etcd3.New(s.Client, &s.history, codec, newFunc, newListFunc, config.Prefix, prefix, config.GroupResource,
			keyTransformer{s.Encryption.TransformerForResource(config.GroupResource)}, etcd3.NewDefaultLeaseManagerConfig(), etcd3.NewDefaultDecoder(codec, versioner), versioner)
		if err != nil {
			return nil, nil, fmt.Errorf("storage below %s: %w", prefix, err)
		}
		if !cached {
			return &spaceStorage{Interface: raw, raw: raw, prefix: prefix, only: only, exists: s.Exists, all: s}, raw.Close, nil
		}
		newest := s.Newest(config.Prefix + prefix) // before the cache reads anything
		c, err := cacher.NewCacherFromConfig(cacher.Config{
			Storage: plainList{raw}, Versioner: versioner, GroupResource: config.GroupResource,
			EventsHistoryWindow: cacher.DefaultEventFreshDuration, ResourcePrefix: prefix,
			NewFunc: newFunc, NewListFunc: newListFunc, GetAttrsFunc: attrs, IndexerFuncs: trigger, Indexers: indexers,
			Codec: codec, KeyFunc: keyOf(config.Prefix),
		})
		if err != nil {
			raw.Close()
			return nil, nil, fmt.Errorf("cache of %s: %w", prefix, err)
		}
		s.mu.Lock()
		s.cachers = append(s.cachers, c)
		s.mu.Unlock()
		d := cacher.NewCacheDelegator(c, raw)
		var once sync.Once
		destroy := func() { once.Do(func() { d.Stop(); c.Stop(); raw.Close() }) }
		return &spaceStorage{Interface: d, raw: raw, prefix: prefix, newest: newest, only: only, exists: s.Exists, all: s}, destroy, nil
	}
}

// keyOf is the cache's key function: the storage key that keyCodec left on the object.
func keyOf(prefix string) func(runtime.Object) (string, error) {
	return func(obj runtime.Object) (string, error) {
		a, err := meta.Accessor(obj)
		if err != nil {
			return "", err
		}
		if a.GetSelfLink() == "" {
			return "", fmt.Errorf("no storage key on %T %s/%s", obj, a.GetNamespace(), a.GetName())
		}
		return strings.TrimPrefix(a.GetSelfLink(), prefix), nil
	}
}

// run moves the revision from which on caches answer lists, until ctx ends. newest returns the revision of the store.
func (s *storages) run(ctx context.Context, newest func(context.Context) (int64, error)) error {
	return s.history.run(ctx, newest)
}

// wait returns when every cache has its first list.
func (s *storages) wait(ctx context.Context) error {
	s.mu.Lock()
	all := append([]*cacher.Cacher(nil), s.cachers...)
	s.mu.Unlock()
	for _, c := range all {
		if err := c.Wait(ctx); err != nil {
			return fmt.Errorf("fill caches: %w", err)
		}
	}
	return nil
}

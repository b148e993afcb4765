package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"

	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/store"
)

// ForSpaces returns the storages of all spaces. They have no resources yet.
func ForSpaces(c Config) *Storages {
	return &Storages{config: c, recent: newRecent(), native: map[string]schema.GroupResource{}}
}

// Storages makes the storage of every resource: one etcd client, one cache over all spaces, the
// space in the key.
type Storages struct {
	config  Config
	history history
	recent  *recent

	mu      sync.Mutex
	native  map[string]schema.GroupResource // resource prefix without slashes around -> resource
	cachers []*cacher.Cacher
}

// GetRESTOptions implements generic.RESTOptionsGetter for the built-in kinds.
func (s *Storages) GetRESTOptions(gr schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	config, err := s.config.Factory.NewConfig(gr, example)
	if err != nil {
		return generic.RESTOptions{}, fmt.Errorf("storage of %s: %w", gr, err)
	}
	prefix := s.config.Factory.ResourcePrefix(gr)
	if other, taken := s.nativeAt(prefix); taken && other != gr && other.Resource != "events" {
		// The server asks for the prefixes of all that it serves, to tell which resources are the same
		// objects. One that is not stored has the prefix of another by its name: metrics of pods. Only
		// Events are the same objects in two groups.
		return generic.RESTOptions{}, fmt.Errorf("storage of %s: %w by %s", gr, errPrefixTaken, other)
	}
	s.AddNative(prefix, gr)
	return options(config, prefix, s.decorate(s.isCached(gr), "")), nil
}

var errPrefixTaken = errors.New("its keys are taken")

// nativeAt returns the resource whose keys begin with a prefix.
func (s *Storages) nativeAt(prefix string) (gr schema.GroupResource, taken bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gr, taken = s.native[strings.Trim(prefix, "/")]
	return gr, taken
}

// isCached reports whether a resource has a cache. Events have none, as upstream: they are many,
// short-lived and hardly read. Neither have kinds that are not served.
func (s *Storages) isCached(gr schema.GroupResource) bool {
	return gr.Resource != "events" &&
		!slices.ContainsFunc(
			s.config.Unserved,
			func(r schema.GroupVersionResource) bool { return r.GroupResource() == gr },
		)
}

// AddNative records the prefix of a built-in kind, so that Changes can tell what a key is.
func (s *Storages) AddNative(prefix string, gr schema.GroupResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.native[strings.Trim(prefix, "/")] = gr
}

// parse returns the object that a storage key names. The key comes without the prefix of all keys.
func (s *Storages) parse(key string) (store.Key, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return registrykey.Parse(s.native, registrykey.Prefix+key)
}

// WithCodec returns the options of a resource with a storage codec of its own:
// CustomResourceDefinitions and their objects. If only is not "", the resource exists in that space
// alone.
func (s *Storages) WithCodec(
	gr schema.GroupResource,
	codec runtime.Codec,
	cached bool,
	only string,
) generic.RESTOptions {
	config := &storagebackend.ConfigForResource{
		Config: storagebackend.Config{
			Prefix:              registrykey.Prefix,
			Codec:               codec,
			EventsHistoryWindow: cacher.DefaultEventFreshDuration,
		},
		GroupResource: gr,
	}
	return options(config, "/"+gr.Group+"/"+gr.Resource, s.decorate(cached, only))
}

// options lets deletions with a propagation policy wait for the center's garbage collector.
func options(config *storagebackend.ConfigForResource, prefix string, d generic.StorageDecorator) generic.RESTOptions {
	return generic.RESTOptions{StorageConfig: config, Decorator: d, DeleteCollectionWorkers: 1, ResourcePrefix: prefix,
		EnableGarbageCollection: true}
}

func (s *Storages) decorate(cached bool, only string) generic.StorageDecorator {
	return func(config *storagebackend.ConfigForResource, prefix string, _ func(runtime.Object) (string, error),
		newFunc, newListFunc func() runtime.Object, attrs storage.AttrFunc, trigger storage.IndexerFuncs,
		indexers *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
		prefix = "/" + strings.Trim(prefix, "/")
		codec := keyCodec{config.Codec, &storageName{prefix}, s.recent}
		versioner := storage.APIObjectVersioner{}
		transformer := keyTransformer{s.config.Encryption.TransformerForResource(config.GroupResource)}
		raw, err := etcd3.New(
			s.config.Client,
			&s.history,
			codec,
			newFunc,
			newListFunc,
			config.Prefix,
			prefix,
			config.GroupResource,
			transformer,
			etcd3.NewDefaultLeaseManagerConfig(),
			etcd3.NewDefaultDecoder(codec, versioner),
			versioner,
		)
		if err != nil {
			return nil, nil, fmt.Errorf("storage below %s: %w", prefix, err)
		}
		if !cached {
			shared := &storeWatches{
				prefix:   registrykey.Prefix + prefix + "/",
				watch:    s.config.Client.Watch,
				decode:   decoder(transformer, codec, versioner),
				bookmark: bookmarkOf(newFunc, versioner),
				ask:      raw.RequestWatchProgress,
				open:     map[string]*storeWatch{},
			}
			return &spaceStorage{
				Interface: raw,
				raw:       raw,
				prefix:    prefix,
				shared:    shared,
				only:      only,
				exists:    s.config.Exists,
				all:       s,
			}, raw.Close, nil
		}
		newest := s.config.Newest(config.Prefix + prefix) // before the cache reads anything
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
		return &spaceStorage{
			Interface: d,
			raw:       raw,
			prefix:    prefix,
			newest:    newest,
			only:      only,
			exists:    s.config.Exists,
			all:       s,
		}, destroy, nil
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

// Run moves the oldest revision for which caches answer lists, until ctx ends. newest returns the
// revision of the store.
func (s *Storages) Run(ctx context.Context, newest func(context.Context) (int64, error)) error {
	return s.history.run(ctx, newest)
}

// Wait returns when every cache has its first list.
func (s *Storages) Wait(ctx context.Context) error {
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

package storage

import (
	"context"
	"fmt"
	"runtime/debug"
	"strconv"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"skerry.dev/skerry/server/apiserver/follow"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/store"
)

// ChangeHandler receives the writes of all spaces. Its methods are called by one goroutine, one
// after another.
type ChangeHandler interface {
	// Reset is given all objects as of a revision. It comes first, and again if history was lost. The
	// listing may be ranged over more than once, within Reset.
	Reset(revision int64, all store.Listing)
	// Apply is given one write. Revisions only grow.
	Apply(w store.Write)
	// Progress is called when every write up to revision has been applied: after each group of writes,
	// and now and then while nothing is written.
	Progress(revision int64)
}

// Changes gives h every object of every space, and from then on every write in the order of
// revisions, from one watch on the store. It returns when ctx ends, or when something stored cannot
// be decoded: leaving it out would look like its deletion.
func (s *Storages) Changes(ctx context.Context, h ChangeHandler) error {
	err := follow.Prefix(
		ctx,
		s.config.Client.Client,
		registrykey.Prefix+"/",
		&changes{native: s.nativePrefixes(), encryption: s.config.Encryption, to: h},
	)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("follow writes: %w", err)
}

type changes struct {
	native     map[string]schema.GroupResource
	encryption Encryption
	to         ChangeHandler
	fresh      bool // there was no progress since reset
}

// plain is a stored value without its encryption.
func (c *changes) plain(k store.Key, kv *mvccpb.KeyValue) ([]byte, error) {
	return c.encryption.Decrypt(
		context.Background(),
		schema.GroupResource{Group: k.Group, Resource: k.Resource},
		kv.Key,
		kv.Value,
	)
}

func (c *changes) Reset(revision int64, all []*mvccpb.KeyValue) error {
	l, err := c.newListing(all)
	if err != nil {
		return err
	}
	c.to.Reset(revision, l)
	c.fresh = true
	return nil
}

func (c *changes) Change(e *clientv3.Event) error {
	k, ok := registrykey.Parse(c.native, string(e.Kv.Key))
	switch {
	case !ok:
		return nil
	case e.Type == mvccpb.Event_DELETE:
		c.to.Apply(store.Write{Key: k, Revision: e.Kv.ModRevision})
		return nil
	}
	w, err := c.write(k, e.Kv)
	if err != nil {
		return fmt.Errorf("decode %s: %w", e.Kv.Key, err)
	}
	c.to.Apply(w)
	return nil
}

func (c *changes) Progress(revision int64) {
	c.to.Progress(revision)
	if c.fresh {
		// The listing, and what was decoded of it, is garbage now, and more than all else: it must
		// not stay resident.
		c.fresh = false
		debug.FreeOSMemory()
	}
}

func (c *changes) write(k store.Key, kv *mvccpb.KeyValue) (store.Write, error) {
	data, err := c.plain(k, kv)
	if err != nil {
		return store.Write{}, err
	}
	obj, err := storedMap(data)
	if err != nil {
		return store.Write{}, err
	}
	if m, ok := obj["metadata"].(map[string]any); ok {
		m["resourceVersion"] = strconv.FormatInt(kv.ModRevision, 10)
	}
	apiVersion, _ := obj["apiVersion"].(string)
	kind, _ := obj["kind"].(string)
	return store.Write{
		Key:        k,
		APIVersion: apiVersion,
		Kind:       kind,
		Revision:   kv.ModRevision,
		Size:       storedSize(kv),
		Object:     obj,
	}, nil
}

// storedMap returns a stored object as decoded JSON, without its managedFields: they are most of a
// small object, and no part of the center reads them. Custom resources are stored as JSON, built-in
// kinds as protobuf.
func storedMap(data []byte) (map[string]any, error) {
	v, err := Decode(data)
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case map[string]any:
		if m, ok := v["metadata"].(map[string]any); ok {
			delete(m, "managedFields")
		}
		return v, nil
	case runtime.Object:
		o := metadata.Of(v)
		if o != nil {
			o.SetManagedFields(nil)
		}
		return runtime.DefaultUnstructuredConverter.ToUnstructured(v)
	default:
		return nil, fmt.Errorf("unexpected %T", v)
	}
}

// stored decodes what is stored of built-in kinds: those of client-go, and APIServices.
var stored = func() serializer.CodecFactory {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiregistrationv1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return serializer.NewCodecFactory(s)
}()

// Decode returns a stored value: a map of a custom resource, a runtime.Object of a built-in kind.
func Decode(data []byte) (any, error) {
	if len(data) > 0 && data[0] == '{' {
		m := map[string]any{}
		return m, utiljson.Unmarshal(data, &m)
	}
	obj, gvk, err := stored.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	obj.GetObjectKind().SetGroupVersionKind(*gvk)
	return obj, nil
}

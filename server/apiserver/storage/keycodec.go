package storage

import (
	"context"
	"io"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/value"

	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
)

// A cache over all spaces must know the storage key of an object, and all it has is the decoded
// object. keyTransformer sees the key (as authenticated data) and puts it before the payload;
// keyCodec takes it off and writes it to metadata.selfLink, which Kubernetes itself no longer uses
// and clears before every write.

// keyTransformer adds the key only for readers across spaces: an update compares stored bytes and
// must see them unchanged. Values are encrypted without the key.
type keyTransformer struct{ stored value.Transformer }

func (t keyTransformer) TransformFromStorage(ctx context.Context, data []byte, dc value.Context) ([]byte, bool, error) {
	data, stale, err := t.stored.TransformFromStorage(ctx, data, dc)
	if err != nil {
		return nil, false, err
	}
	if s := request.Space(ctx); s != "" && s != request.AllSpaces {
		return data, stale, nil
	}
	return registrykey.Put(dc.AuthenticatedData(), data), stale, nil
}

func (t keyTransformer) TransformToStorage(ctx context.Context, data []byte, dc value.Context) ([]byte, error) {
	return t.stored.TransformToStorage(ctx, data, dc)
}

type keyCodec struct {
	runtime.Codec
	of     *storageName
	recent *recent // nil decodes everything anew
}

func (c keyCodec) Decode(
	data []byte,
	gvk *schema.GroupVersionKind,
	into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	key, data := registrykey.Cut(data)
	obj, kind, err := c.decode(data, gvk, into)
	if err != nil || key == "" {
		return obj, kind, err
	}
	a, err := meta.Accessor(obj)
	if err != nil {
		return obj, kind, err
	}
	a.SetSelfLink(key)
	return obj, kind, nil
}

func (c keyCodec) decode(
	data []byte,
	gvk *schema.GroupVersionKind,
	into runtime.Object,
) (runtime.Object, *schema.GroupVersionKind, error) {
	if c.recent != nil && len(data) >= largeValue && gvk == nil && into == nil { // as watches do
		return c.recent.decode(c.of, c.Codec, data)
	}
	return c.Codec.Decode(data, gvk, into)
}

func (c keyCodec) Encode(obj runtime.Object, w io.Writer) error { return c.Codec.Encode(obj, w) }

// clearKey removes the key from an object or list that goes to a reader in one space.
func clearKey(obj runtime.Object) {
	if obj == nil {
		return
	}
	if meta.IsListType(obj) {
		_ = meta.EachListItem(obj, func(o runtime.Object) error { clearKey(o); return nil })
		return
	}
	if a, err := meta.Accessor(obj); err == nil && a.GetSelfLink() != "" {
		a.SetSelfLink("")
	}
}

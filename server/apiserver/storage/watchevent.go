package storage

import (
	"bytes"
	"io"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"skerry.dev/skerry/server/apiserver/backlog"
	"skerry.dev/skerry/server/apiserver/metadata"
)

// heldEvent is an object that a watch is about to send. All watches of a space that have it to send
// share the object and each of its encodings, of which upstream makes one for each of them, but for
// events of the cache that are not initial ones.
type heldEvent struct {
	watch  *backlog.Watch
	event  *backlog.Event
	shared *sharedObject
}

// eventKey says which events are equal. An object of one version may come from one storage only.
type eventKey struct {
	of              *spaceStorage
	space           string
	namespace, name string
	version         string
	typ             watch.EventType // an object that no longer fits a selector comes deleted, as it was
}

// GetObjectKind implements runtime.Object.
func (h *heldEvent) GetObjectKind() schema.ObjectKind { return h.shared.object.GetObjectKind() }

// DeepCopyObject implements runtime.Object.
func (h *heldEvent) DeepCopyObject() runtime.Object { return h.shared.copy() }

// GetObject implements runtime.CacheableObject.
func (h *heldEvent) GetObject() runtime.Object { return h.shared.copy() }

// GetObjectMeta implements metav1.ObjectMetaAccessor. What it returns is to be read only.
func (h *heldEvent) GetObjectMeta() metav1.Object { return metadata.Of(h.shared.object) }

// CacheEncode implements runtime.CacheableObject: it is how a watch sends the event.
func (h *heldEvent) CacheEncode(
	id runtime.Identifier,
	encode func(runtime.Object, io.Writer) error,
	w io.Writer,
) error {
	h.watch.Sending(h.event)
	defer h.watch.Sent(h.event)
	e := h.shared.encoding(id)
	e.once.Do(func() {
		var b bytes.Buffer
		e.err = encode(h.shared.copy(), &b)
		e.body = b.Bytes()
		h.watch.Encoded(h.event, int64(len(e.body)))
	})
	if e.err != nil {
		return e.err
	}
	_, err := w.Write(e.body)
	return err
}

// sharedObject is an object with its encodings.
type sharedObject struct {
	object runtime.Object // read only

	mu  sync.Mutex
	all map[runtime.Identifier]*encoding
}

type encoding struct {
	once sync.Once
	body []byte
	err  error
}

func (s *sharedObject) encoding(id runtime.Identifier) *encoding {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.all[id]
	if e == nil {
		e = &encoding{}
		s.all[id] = e
	}
	return e
}

// copy returns the object for somebody who may change it, as encoders do.
func (s *sharedObject) copy() runtime.Object {
	if c, ok := s.object.(runtime.CacheableObject); ok {
		return c.GetObject()
	}
	return s.object.DeepCopyObject()
}

// sizeOf is about how many bytes an object has.
func (s *spaceStorage) sizeOf(k eventKey) int64 {
	path := s.prefix + "/" + k.space + "/"
	if k.namespace != "" {
		path += k.namespace + "/"
	}
	key, known := s.all.parse(path + k.name)
	if !known {
		return 0
	}
	return s.all.config.Quota.Size(key)
}

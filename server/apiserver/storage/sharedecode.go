package storage

import (
	"hash/maphash"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/lru"
)

const (
	// largeValue is from how many bytes on decoding a value costs more than finding out whether it
	// has just been decoded.
	largeValue = 64 << 10
	// recentValues is how many large values are kept decoded.
	recentValues = 8
)

// recent has the large values that were decoded last. Without it each watch without a cache would
// decode the same event, all at the same moment.
type recent struct {
	seeds [2]maphash.Seed

	mu    sync.Mutex
	known *lru.Cache
}

// valueKey is a value as one storage decodes it.
type valueKey struct {
	of   *storageName
	sums [2]uint64
	size int
}

// storageName is one storage, as long as it is there.
type storageName struct{ prefix string }

type decoded struct {
	once sync.Once
	obj  runtime.Object
	gvk  *schema.GroupVersionKind
	err  error
}

func newRecent() *recent {
	return &recent{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, known: lru.New(recentValues)}
}

// decode returns what the codec of a storage makes of a value, as an object of the caller's own.
func (r *recent) decode(
	of *storageName,
	c runtime.Codec,
	data []byte,
) (runtime.Object, *schema.GroupVersionKind, error) {
	key := valueKey{of: of, size: len(data)}
	for i, seed := range r.seeds {
		key.sums[i] = maphash.Bytes(seed, data)
	}
	d := r.entry(key)
	d.once.Do(func() { d.obj, d.gvk, d.err = c.Decode(data, nil, nil) })
	if d.err != nil || d.obj == nil {
		return d.obj, d.gvk, d.err
	}
	return d.obj.DeepCopyObject(), d.gvk, nil
}

func (r *recent) entry(key valueKey) *decoded {
	r.mu.Lock()
	defer r.mu.Unlock()
	if d, ok := r.known.Get(key); ok {
		return d.(*decoded)
	}
	d := &decoded{}
	r.known.Add(key, d)
	return d
}

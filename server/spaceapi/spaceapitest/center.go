package spaceapitest

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
)

// Center is an API over a map whose writes come back as a store's do. A fake embeds it, and adds the
// reports and decisions that its controller asks for. The fields are for its tests, which hold Mu.
type Center struct {
	// Mu is held while Apply is called.
	Mu sync.Mutex
	// Objects are what is stored. Nobody changes an object in place.
	Objects map[store.Key]map[string]any
	// Revision is that of the last write.
	Revision int64
	// Writes counts what was created and patched through the API.
	Writes map[store.Key]int
	// Apply is told each write; nil as long as nobody listens.
	Apply func(store.Write)
}

// NewCenter returns a Center without objects.
func NewCenter() *Center {
	return &Center{Objects: map[store.Key]map[string]any{}, Writes: map[store.Key]int{}}
}

// Listing is what is stored, as a controller's Reset wants it. Mu must be held.
func (c *Center) Listing() store.Listing {
	return storetest.Listing(func(yield func(store.Write) bool) {
		for k, o := range c.Objects {
			if !yield(written(k, o)) {
				return
			}
		}
	})
}

func written(k store.Key, o map[string]any) store.Write {
	w := store.Write{Key: k, Object: Clone(o), APIVersion: fields.String(o, "apiVersion"), Kind: fields.String(o, "kind")}
	w.Revision, _ = strconv.ParseInt(fields.String(o, "metadata", "resourceVersion"), 10, 64) // 0 of what has none
	return w
}

// Put stores an object as its users do, nil deletes it.
func (c *Center) Put(k store.Key, o map[string]any) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.PutLocked(k, o)
}

// PutLocked is Put for those who hold Mu. An object without a UID gets one.
func (c *Center) PutLocked(k store.Key, o map[string]any) {
	c.Revision++
	w := store.Write{Key: k, Revision: c.Revision}
	if o = Clone(o); o == nil {
		delete(c.Objects, k)
	} else {
		meta := fields.Map(o, "metadata")
		meta["resourceVersion"] = strconv.FormatInt(c.Revision, 10)
		if meta["uid"] == nil {
			meta["uid"] = fmt.Sprintf("uid-%d", c.Revision)
		}
		c.Objects[k] = o
		w = written(k, o)
	}
	if c.Apply != nil {
		c.Apply(w)
	}
}

// Object returns what is stored, nil where nothing is.
func (c *Center) Object(k store.Key) map[string]any {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return Clone(c.Objects[k])
}

// Get reads as the API does.
func (c *Center) Get(_ context.Context, k store.Key, _ string) (map[string]any, error) {
	if o := c.Object(k); o != nil {
		return o, nil
	}
	return nil, NotFound(k)
}

// Live is Get.
func (c *Center) Live(ctx context.Context, k store.Key, apiVersion string) (map[string]any, error) {
	return c.Get(ctx, k, apiVersion)
}

// Create creates as the API does, with generation 1.
func (c *Center) Create(_ context.Context, k store.Key, _ string, o map[string]any) (map[string]any, error) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if c.Objects[k] != nil {
		return nil, AlreadyExists(k)
	}
	o = Clone(o)
	meta := fields.Map(o, "metadata")
	delete(meta, "uid")
	meta["generation"] = 1
	c.Writes[k]++
	c.PutLocked(k, o)
	return Clone(c.Objects[k]), nil
}

// Patch applies a merge patch, or the JSON patches that controllers make: add, replace, remove and test of a
// field at the top or of the metadata. A patch of the object itself raises its generation.
func (c *Center) Patch(_ context.Context, k store.Key, _, subresource string, patch []byte) (map[string]any, error) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	o := Clone(c.Objects[k])
	if o == nil {
		return nil, NotFound(k)
	}
	var merge map[string]any
	if json.Unmarshal(patch, &merge) != nil {
		if err := jsonPatch(o, patch); err != nil {
			return nil, err
		}
	} else {
		was := fields.String(o, "metadata", "resourceVersion")
		if v := fields.String(merge, "metadata", "resourceVersion"); v != "" && v != was {
			return nil, Conflict(k)
		}
		Merge(o, merge)
		if subresource == "" {
			meta := fields.Map(o, "metadata")
			generation, _ := meta["generation"].(float64)
			meta["generation"] = generation + 1
		}
	}
	c.Writes[k]++
	c.PutLocked(k, o)
	return Clone(c.Objects[k]), nil
}

// jsonPatch applies a JSON patch (RFC 6902), see Patch.
func jsonPatch(o map[string]any, patch []byte) error {
	var ops []struct {
		Op, Path string
		Value    any
	}
	if err := json.Unmarshal(patch, &ops); err != nil {
		return err
	}
	for _, op := range ops {
		at, name := o, strings.TrimPrefix(op.Path, "/")
		if inner, ok := strings.CutPrefix(name, "metadata/"); ok {
			at, name = fields.Map(o, "metadata"), inner
		}
		switch op.Op {
		case "test":
			if at[name] != op.Value {
				return fmt.Errorf("test of %s failed", op.Path)
			}
		case "add", "replace":
			at[name] = op.Value
		case "remove":
			delete(at, name)
		default:
			return fmt.Errorf("%s is no operation of this fake", op.Op)
		}
	}
	return nil
}

// Delete deletes the object with a UID as the API does.
func (c *Center) Delete(_ context.Context, k store.Key, _, uid string) error {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	switch o := c.Objects[k]; {
	case o == nil:
		return NotFound(k)
	case fields.String(o, "metadata", "uid") != uid:
		return Conflict(k)
	}
	c.PutLocked(k, nil)
	return nil
}

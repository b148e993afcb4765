package delivery

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
)

// admit is what admission makes of a user's write: the center's annotations of a new object, and those
// of one that is there.
func (c *center) admit(k store.Key, o map[string]any) map[string]any {
	if o == nil || k.Space == v1alpha1.RootSpace {
		return o
	}
	o = spaceapitest.Clone(o)
	m := o["metadata"].(map[string]any)
	if m["uid"] == nil {
		m["uid"] = "uid-" + k.String()
	}
	notes := map[string]any{}
	if old := c.objects[k]; old != nil && fields.Clone(old, "metadata", "uid") == m["uid"] {
		for _, name := range v1alpha1.CenterAnnotations() {
			if v := fields.Clone(old, "metadata", "annotations", name); v != "" {
				notes[name] = v
			}
		}
	} else if !c.follower {
		u := &unstructured.Unstructured{Object: o}
		a := c.d.Admit(k.Space, k, u)
		if a.Unit != "" {
			notes[v1alpha1.AnnotationUnit] = a.Unit
		}
		if a.Targets != "" {
			notes[v1alpha1.AnnotationTargets] = a.Targets
		}
	}
	for name, v := range fields.Map(m, "annotations") {
		notes[name] = v
	}
	if len(notes) > 0 {
		m["annotations"] = notes
	}
	return o
}

// Write implements scheduler.Records.
func (c *center) Write(_ context.Context, k store.Key, value []byte, was int64) (int64, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		if err := c.fail(k); err != nil {
			return 0, false, err
		}
	}
	var now int64
	if o := c.objects[k]; o != nil {
		fmt.Sscan(fields.Clone(o, "metadata", "resourceVersion"), &now)
	}
	if now != was {
		return 0, false, nil
	}
	c.writes++
	if value == nil {
		c.commit(k, nil)
		return c.revision, true, nil
	}
	var o map[string]any
	if err := json.Unmarshal(value, &o); err != nil {
		return 0, false, err
	}
	c.commit(k, o)
	return c.revision, true, nil
}

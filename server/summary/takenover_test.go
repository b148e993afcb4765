package summary

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
)

func (c *center) Live(ctx context.Context, k store.Key, apiVersion string) (map[string]any, error) {
	return c.Get(ctx, k, apiVersion)
}

// TestAPodThatAControllerOfItsTargetTakesOver: it shows its owner while that is in the space and not being
// deleted, and goes when the owner has deleted it.
func TestAPodThatAControllerOfItsTargetTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		defer c.stop()
		pod, rs := key("", "pods", "first"), key("apps", "replicasets", "rs")
		c.mu.Lock()
		c.commit(pod, map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": map[string]any{},
			"metadata": map[string]any{"name": "first", "uid": "uid-first"}})
		c.mu.Unlock()
		c.place(pod, "v1", "Pod", "a")
		c.place(rs, "apps/v1", "ReplicaSet", "a")
		phase := 0
		says := func(f *store.Filled) {
			t.Helper()
			phase++
			c.says("a", pod, &store.Report{OriginUID: "uid-first", Filled: f, Status: status(`{"phase":"%d"}`, phase)})
			c.eventually("its status", func() bool { return c.status(pod)["phase"] == string(rune('0'+phase)) })
		}
		shows := func(owners, mark string) {
			t.Helper()
			c.eventually(owners, func() bool {
				c.mu.Lock()
				text, _ := json.Marshal(fields.List(fields.Map(c.objects[pod], "metadata"), "ownerReferences"))
				c.mu.Unlock()
				is, _ := c.notes(pod)[v1alpha1.AnnotationAllocated].(string)
				return string(text) == owners && is == mark
			})
		}
		edit := func(k store.Key, change func(meta map[string]any)) {
			c.mu.Lock()
			defer c.mu.Unlock()
			o := spaceapitest.Clone(c.objects[k])
			change(fields.Map(o, "metadata"))
			c.commit(k, o)
		}
		by := func(uid string) *store.Filled {
			return &store.Filled{Controller: &store.Controller{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: uid}}
		}
		const none, mark = "null", `{"controller":"uid-rs"}`
		const ref = `{"apiVersion":"apps/v1","blockOwnerDeletion":true,"controller":true,"kind":"ReplicaSet","name":"rs","uid":"uid-rs"}`
		says(by("uid-rs"))
		shows("["+ref+"]", mark)
		writes := c.count()
		says(by("uid-rs"))
		if n := c.count(); n != writes+1 {
			t.Errorf("%d writes for a status", n-writes)
		}

		says(nil) // it lets go
		shows(none, "")
		says(by("uid-of-before"))
		shows(none, "")

		// Somebody takes the reference off, and adds another.
		other := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "uid-o"}
		says(by("uid-rs"))
		shows("["+ref+"]", mark)
		edit(pod, func(meta map[string]any) { meta["ownerReferences"] = []any{other} })
		const both = `[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"uid-o"},` + ref + `]`
		shows(both, mark)
		says(nil)
		shows(`[{"apiVersion":"v1","kind":"ConfigMap","name":"o","uid":"uid-o"}]`, "")

		// What something of the space controls already stays with that.
		edit(pod, func(meta map[string]any) {
			o := spaceapitest.Clone(other)
			o["controller"] = true
			meta["ownerReferences"] = []any{o}
		})
		says(by("uid-rs"))
		shows(`[{"apiVersion":"v1","controller":true,"kind":"ConfigMap","name":"o","uid":"uid-o"}]`, "")

		// An owner that is being deleted may be leaving it behind.
		edit(rs, func(meta map[string]any) { meta["deletionTimestamp"] = "now" })
		edit(pod, func(meta map[string]any) { delete(meta, "ownerReferences") })
		says(by("uid-rs"))
		shows(none, "")
		edit(rs, func(meta map[string]any) { delete(meta, "deletionTimestamp") })

		// On two targets it stays until both have seen it go.
		c.mu.Lock()
		at := c.placed[pod]
		at.Targets = []string{"a", "b"}
		c.placed[pod] = at
		c.mu.Unlock()
		ended := func(target string, n int) {
			c.says(target, pod, &store.Report{OriginUID: "uid-first", Filled: &store.Filled{Ended: true}, At: int64(n)})
		}
		c.says("b", pod, &store.Report{OriginUID: "uid-first", Status: status(`{"phase":"z"}`)})
		ended("a", 1)
		if err := c.s.write(t.Context(), pod); err != nil {
			t.Error(err)
		}
		if !c.exists(pod) {
			t.Error("it went from the space while a target has it")
		}
		ended("b", 2)
		c.eventually("it goes", func() bool { return !c.exists(pod) })
	})
}

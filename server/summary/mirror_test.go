package summary

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
)

func TestAMirrorIsChangedInOneWriteAndAPodMadeAnewIsAnotherOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a")
		pod := key("", "pods", "web-0")
		as := func(born, node, phase string) *store.Report {
			r := podReport(phase)
			r.Object = json.RawMessage(
				fmt.Sprintf(`{"metadata":{"creationTimestamp":%q,"ownerReferences":[{"apiVersion":"apps/v1",
			"kind":"Deployment","name":"web","uid":"uid-web"}]},"spec":{"nodeName":%q}}`, born, node),
			)
			return r
		}
		field := func(path ...string) any {
			o, _ := c.Get(t.Context(), pod, "")
			var v any = o
			for _, p := range path {
				m, _ := v.(map[string]any)
				v = m[p]
			}
			return v
		}
		c.says("a", pod, as("t1", "", "Pending"))
		c.eventually("mirrored", func() bool { return field("status", "phase") == "Pending" })
		uid := field("metadata", "uid")
		if at := field("metadata", "annotations", v1alpha1.AnnotationReportedCreation); at != "t1" {
			t.Errorf("mirrored as created at %v", at)
		}
		c.says("a", pod, as("t1", "n1", "Running"))
		c.eventually(
			"has a node",
			func() bool { return field("spec", "nodeName") == "n1" && field("status", "phase") == "Running" },
		)
		if n := c.count(); n != 2 || field("metadata", "uid") != uid {
			t.Errorf("%d writes, uid %v -> %v", n, uid, field("metadata", "uid"))
		}
		c.says("a", pod, as("t2", "n1", "Pending"))
		c.eventually(
			"another pod",
			func() bool { return field("metadata", "uid") != uid && field("status", "phase") == "Pending" },
		)
	})
}

// TestASiteSaysNothingInTheCentersWords: labels and annotations of skerry.dev say whose an object is, and
// who it was before. A site that makes some up is not believed.
func TestASiteSaysNothingInTheCentersWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a")
		pod := key("", "pods", "web-0")
		r := podReport("Running")
		r.Object = json.RawMessage(`{"metadata":{"name":"web-0","uid":"u-1","ownerReferences":[{"apiVersion":"apps/v1",
		"kind":"Deployment","name":"web","uid":"uid-web"}],
		"labels":{"app":"web","skerry.dev/target":"b","skerry.dev/user":"admin"},
		"annotations":{"note":"kept","skerry.dev/import":"{\"uid\":\"other\"}","skerry.dev/targets":"b","skerry.dev/unit":"u",
		"skerry.dev/space-owners":"x","skerry.dev/reported-from":"b","skerry.dev/reported-as":"web-1","skerry.dev/space-api":"op",
		"SKERRY.dev/import":"{}","x.skerry.dev/y":"z","skerry.dev/endpoints-truncated":"2 of 3"}}}`)
		c.says("a", pod, r)
		notes := func() map[string]any {
			o, _ := c.Get(t.Context(), pod, "")
			meta, _ := o["metadata"].(map[string]any)
			all, _ := meta["annotations"].(map[string]any)
			if labels, _ := meta["labels"].(map[string]any); len(labels) > 1 {
				t.Errorf("labels %v", labels)
			}
			return all
		}
		c.eventually("mirrored", func() bool { return notes()["note"] == "kept" })
		want := map[string]any{"note": "kept", "skerry.dev/endpoints-truncated": "2 of 3",
			v1alpha1.AnnotationReportedFrom: "a", annotationReportedUID: "u-1"}
		got := notes()
		delete(got, annotationReportedHash)
		if !maps.Equal(got, want) {
			t.Errorf("annotations %v", got)
		}
	})
}

func podReport(phase string) *store.Report {
	object := `{"metadata":{"name":"web-0","labels":{"app":"web"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web",
		"uid":"uid-web","controller":true}]},"spec":{"nodeName":"n1","containers":[{"name":"c"}]}}`
	return &store.Report{OriginUID: "uid-web", Object: json.RawMessage(object), Status: status(`{"phase":%q}`, phase)}
}

func (c *center) from(k store.Key) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, _ := c.objects[k]["metadata"].(map[string]any)
	notes, _ := m["annotations"].(map[string]any)
	from, _ := notes[v1alpha1.AnnotationReportedFrom].(string)
	return from
}

func TestPodsAreMirroredAndFollowTheMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a", "b")
		pod, second := key("", "pods", "web-0"), key("", "pods", "web-0.b")
		c.says("b", pod, podReport("Pending"))
		c.eventually("b's pod has the plain name while it is alone", func() bool { return c.from(pod) == "b" })
		c.says("a", pod, podReport("Running"))
		c.eventually("the longest placed has the plain name", func() bool {
			return c.from(pod) == "a" && c.from(second) == "b" && c.status(pod)["phase"] == "Running"
		})
		writes := c.count()
		c.says("a", pod, podReport("Running"))
		c.says("b", pod, podReport("Running"))
		c.eventually("b's status", func() bool { return c.status(second)["phase"] == "Running" })
		if n := c.count() - writes; n != 1 {
			t.Errorf("%d writes for one change", n)
		}
		c.place(web, "apps/v1", "Deployment", "b")
		c.says("a", pod, nil)
		c.eventually("b's pod takes the plain name", func() bool { return c.from(pod) == "b" && !c.exists(second) })
		c.says("b", pod, nil)
		c.eventually("all gone", func() bool { return !c.exists(pod) })
		c.stop()
		c.s.mu.Lock()
		defer c.s.mu.Unlock()
		if len(c.s.mirrors)+len(c.s.names)+len(c.s.owners) != 0 {
			t.Errorf("left in memory: %d mirrors, %d names, %d owners", len(c.s.mirrors), len(c.s.names), len(c.s.owners))
		}
	})
}

func TestTheHistoryOfAWorkloadIsMirrored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a")
		set := key("apps", "replicasets", "web-1")
		says := func(ready int) {
			c.says(
				"a",
				set,
				&store.Report{OriginUID: "uid-web", Status: status(`{"readyReplicas":%d}`, ready), Object: json.RawMessage(
					`{"kind":"Secret","metadata":{"annotations":{"deployment.kubernetes.io/revision":"1"},"ownerReferences":[{"apiVersion":"apps/v1",
			"kind":"Deployment","name":"web","uid":"uid-web"}]},"spec":{"replicas":2}}`,
				)},
			)
		}
		says(1)
		c.eventually("mirrored", func() bool { return c.from(set) == "a" })
		o, _ := c.Get(t.Context(), set, "")
		if o["kind"] != "ReplicaSet" || o["apiVersion"] != "apps/v1" || o["spec"].(map[string]any)["replicas"] != 2.0 {
			t.Errorf("mirrored as %v", o)
		}
		writes := c.count()
		says(2)
		c.eventually("its status follows", func() bool { return c.status(set)["readyReplicas"] == 2.0 })
		if n := c.count() - writes; n != 1 {
			t.Errorf("%d writes for one change", n)
		}
		revision := key("apps", "controllerrevisions", "web-2")
		c.says(
			"a",
			revision,
			&store.Report{
				OriginUID: "uid-web",
				Object: json.RawMessage(`{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1",
		"kind":"Deployment","name":"web","uid":"uid-web"}]},"data":{"x":"y"},"revision":7}`),
			},
		)
		c.eventually("a revision", func() bool {
			o, _ := c.Get(t.Context(), revision, "")
			return o["revision"] == 7.0 && o["data"] != nil && o["spec"] == nil
		})
	})
}

func TestMirrorsGoWithTheirOwnerAndNeverTakeAUsersPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a")
		pod := key("", "pods", "web-0")
		c.mu.Lock()
		c.commit(
			pod,
			map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "web-0", "uid": "mine"}},
		)
		c.mu.Unlock()
		c.says("a", pod, podReport("Running"))
		second := key("", "pods", "web-0.a")
		c.eventually("another name", func() bool { return c.from(second) == "a" })
		if c.from(pod) != "" {
			t.Error("the user's pod was taken")
		}
		c.mu.Lock()
		delete(c.placed, web)
		c.commit(web, nil)
		c.mu.Unlock()
		c.eventually("the mirror goes with its owner", func() bool { return !c.exists(second) })
		if !c.exists(pod) {
			t.Error("the user's pod went too")
		}
	})
}

func TestAMirrorThatSomebodyDeletedComesBackAndMoreThanTenTargetsHaveNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a")
		pod := key("", "pods", "web-0")
		c.says("a", pod, podReport("Running"))
		c.eventually("mirrored", func() bool { return c.from(pod) == "a" })
		c.mu.Lock()
		c.commit(pod, nil)
		c.mu.Unlock()
		c.eventually("mirrored again", func() bool { return c.from(pod) == "a" })
		var many []string
		for i := range mirrorTargets {
			many = append(many, fmt.Sprint("t", i))
		}
		c.place(web, "apps/v1", "Deployment", append(many, "a")...)
		c.says("a", pod, podReport("Pending"))
		c.eventually("no mirrors any more", func() bool { return !c.exists(pod) })
	})
}

func TestMirrorsOfBeforeARestartAreKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a")
		pod := key("", "pods", "web-0")
		c.says("a", pod, podReport("Running"))
		c.eventually("mirrored", func() bool { return c.from(pod) == "a" })
		c.stop()
		next := newCenter(t)
		next.objects, next.placed, next.reports, next.revision = c.objects, c.placed, c.reports, c.revision
		next.s.Reset(next.revision, storetest.Listing(func(yield func(store.Write) bool) {
			for k, o := range next.objects {
				if !yield(store.Write{Key: k, APIVersion: "v1", Kind: "Pod", Revision: revisionOf(o), Object: o}) {
					return
				}
			}
		}))
		next.says("a", pod, nil)
		next.eventually("removed by the next life of the center", func() bool { return !next.exists(pod) })
		if n := next.count(); n != 1 {
			t.Errorf("%d writes", n)
		}
	})
}

package summary

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/spaceapi/spaceapitest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/replicasetdiff"
)

var replicaSet = key("apps", "replicasets", "web-1a")

// desire makes a version of the Deployment the present one.
func (c *center) desire(image string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.desired[web] = fmt.Appendf(
		nil,
		`{"apiVersion":"apps/v1","kind":"Deployment","spec":{"selector":{"matchLabels":{"app":"web"}},`+
			`"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"image":%q,"name":"c"}]}}}}`,
		image,
	)
}

// whole is the ReplicaSet as a target has it.
func whole(image string, replicas int) []byte {
	return fmt.Appendf(
		nil,
		`{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"web-1a","namespace":"app","labels":{"app":"web","pod-template-hash":"1a"},`+
			`"annotations":{"deployment.kubernetes.io/desired-replicas":"0","deployment.kubernetes.io/max-replicas":"0","deployment.kubernetes.io/revision":"1"},`+
			`"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"uid-web","controller":true,"blockOwnerDeletion":true}]},"spec":{"replicas":%d,`+
			`"selector":{"matchLabels":{"app":"web","pod-template-hash":"1a"}},"template":{"metadata":{"labels":{"app":"web","pod-template-hash":"1a"}},`+
			`"spec":{"containers":[{"image":%q,"name":"c"}]}}}}`,
		replicas,
		image,
	)
}

// short is its report against the present version.
func (c *center) short(image string, replicas int) *store.Report {
	c.t.Helper()
	body, err := c.Desired(c.t.Context(), web)
	if err != nil {
		c.t.Fatal(err)
	}
	source, ok := replicasetdiff.Of(body, "uid-web", replicaSet)
	rest, fits := source.Diff(whole(image, replicas))
	if !ok || !fits {
		c.t.Fatalf("%s does not have the template of %s", whole(image, replicas), body)
	}
	return &store.Report{
		OriginUID: "uid-web",
		Of:        source.Name,
		Object:    rest,
		Status:    status(`{"replicas":%d}`, replicas),
	}
}

// image is what the ReplicaSet in the space runs, empty where there is none.
func (c *center) image() string {
	o, _ := c.Get(c.t.Context(), replicaSet, "")
	var is struct {
		Spec struct {
			Template struct {
				Spec struct{ Containers []struct{ Image string } }
			}
		}
	}
	if json.Unmarshal(encode(o), &is) != nil || len(is.Spec.Template.Spec.Containers) == 0 {
		return ""
	}
	return is.Spec.Template.Spec.Containers[0].Image
}

func TestAShortReportIsCompleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a")
		c.desire("v1")
		c.says("a", replicaSet, c.short("v1", 0))
		c.eventually("mirrored", func() bool { return c.exists(replicaSet) })
		want := string(whole("v1", 0))
		o, _ := c.Get(t.Context(), replicaSet, "")
		meta := o["metadata"].(map[string]any)
		for _, ours := range []string{"uid", "resourceVersion"} {
			delete(meta, ours)
		}
		notes := meta["annotations"].(map[string]any)
		for name := range notes {
			if len(name) > 6 && name[:6] == "skerry" {
				delete(notes, name)
			}
		}
		delete(o, "status")
		if got := string(encode(o)); got != string(encode(spaceapitest.Clone(decoded(t, want)))) {
			t.Errorf("mirrored as %s, want %s", got, want)
		}
	})
}

func decoded(t *testing.T, s string) (out map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(s), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// A report against a version that the space does not have any more is completed from no other one.
func TestAShortReportOfAnotherVersionWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(web, "apps/v1", "Deployment", "a")
		c.desire("v1")
		early := c.short("v1", 0)
		c.desire("v2")
		c.says("a", replicaSet, early)
		other := key("", "configmaps", "later")
		c.place(other, "v1", "ConfigMap", "a")
		c.says("a", other, &store.Report{OriginUID: "uid-later", Error: &store.ReportError{Reason: "X", Message: "y"}})
		c.eventually("what came later is written", func() bool { return c.count() > 0 })
		if c.exists(replicaSet) {
			t.Error("mirrored with the template of another version")
		}
		c.says(
			"a",
			replicaSet,
			&store.Report{OriginUID: "uid-web", Object: whole("v1", 0), Status: status(`{"replicas":0}`)},
		)
		c.eventually("the whole one is mirrored", func() bool { return c.image() == "v1" })

		// With a mirror that is there already, only the status is known.
		c.desire("v1")
		late := c.short("v1", 7)
		c.desire("v3")
		c.says("a", replicaSet, late)
		c.eventually("the status is shown", func() bool { return fmt.Sprint(c.status(replicaSet)["replicas"]) == "7" })
		if c.image() != "v1" {
			t.Errorf("the mirror runs %s", c.image())
		}
		c.desire("v1") // back again
		c.eventually("it is tried again", func() bool {
			o, _ := c.Get(t.Context(), replicaSet, "")
			return fmt.Sprint(o["spec"].(map[string]any)["replicas"]) == "7"
		})
	})
}

package summary

import (
	"bytes"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/spaceapi/spaceapitest"
)

// owners are the UIDs of the owners that the space shows of the claim, and what it says of them.
func (c *center) owners() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := ""
	meta := fields.Map(c.objects[dataOf], "metadata")
	for ref := range fields.Maps(meta, "ownerReferences") {
		out += fields.String(ref, "uid") + " "
	}
	return out + "of the space " + fields.String(meta, "annotations", v1alpha1.AnnotationSpaceOwners)
}

// templates gives the StatefulSet templates of claims, of which the first has owners.
func (c *center) templates(owners ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	set := spaceapitest.Clone(c.objects[db])
	set["spec"] = map[string]any{"volumeClaimTemplates": []any{
		map[string]any{"metadata": map[string]any{"name": "data", "ownerReferences": owners}},
		map[string]any{"metadata": map[string]any{"name": "log"}},
	}}
	c.commit(db, set)
}

func ownerRef(uid string, controls bool) map[string]any {
	return map[string]any{"apiVersion": "example.com/v1", "kind": "Queue", "name": uid, "uid": uid, "controller": controls}
}

// TestClaimsHaveOwnersOfTheirSpace: the owners of a template are the claim's, while its StatefulSet is
// there and after that. So are those that a controller has given it. What targets report of it
// changes neither.
func TestClaimsHaveOwnersOfTheirSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(storing, "v1", "Namespace", "a")
		c.place(db, "apps/v1", "StatefulSet", "a")
		c.templates(ownerRef("queue", true))
		c.says("a", dataOf, claimReport("db"))
		c.eventually("it belongs to the queue", func() bool { return c.owners() == "queue of the space queue" })

		c.mu.Lock()
		claim := spaceapitest.Clone(c.objects[dataOf])
		meta := claim["metadata"].(map[string]any)
		meta["ownerReferences"] = append(meta["ownerReferences"].([]any), ownerRef("backup", false))
		meta["annotations"].(map[string]any)[v1alpha1.AnnotationSpaceOwners] = "queue,backup"
		c.commit(dataOf, claim)
		c.mu.Unlock()
		labelled := claimReport("db")
		labelled.Object = bytes.Replace(labelled.Object, []byte(`"uid":"there"`),
			[]byte(`"uid":"there","labels":{"new":"label"}`), 1)
		c.says("a", dataOf, labelled)
		c.eventually("its label is shown", func() bool {
			o, err := c.Get(t.Context(), dataOf, "")
			return err == nil && fields.String(o, "metadata", "labels", "new") == "label"
		})
		if got := c.owners(); got != "queue backup of the space queue,backup" {
			t.Errorf("after a report its owners are %s", got)
		}
		c.forget(db)
		c.settle()
		c.says("a", dataOf, claimReport(""))
		c.settle()
		if got := c.owners(); got != "queue backup of the space queue,backup" {
			t.Errorf("without its StatefulSet its owners are %s", got)
		}
	})
}

// TestClaimsThatTheirSiteOwns: what controls a claim at its site controls it in the space, whatever
// the template says.
func TestClaimsThatTheirSiteOwns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(storing, "v1", "Namespace", "a")
		c.place(db, "apps/v1", "StatefulSet", "a")
		c.templates(ownerRef("queue", true), ownerRef("backup", false))
		owned := claimReport("db")
		owned.Object = []byte(`{"metadata":{"uid":"there","ownerReferences":[{"apiVersion":"apps/v1",` +
			`"kind":"StatefulSet","name":"db","uid":"uid-db","controller":true}]},"spec":{"volumeName":"pv"}}`)
		c.says("a", dataOf, owned)
		c.eventually("it belongs to its StatefulSet first", func() bool {
			return c.owners() == "uid-db backup of the space backup"
		})
	})
}

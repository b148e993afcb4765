package summary

import (
	"fmt"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// A definition that a target refuses has a condition for that, beside those of the space, until the target
// takes it or the definition has left its targets.
func TestARefusedDefinitionHasACondition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		crd := store.Key{Space: "shop", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions",
			Name: "widgets.example.com"}
		c.place(crd, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "a")
		c.mu.Lock()
		c.objects[crd]["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Established", "status": "True"}},
			"storedVersions": []any{"v1"}}
		c.mu.Unlock()
		says := func() string {
			text := ""
			for _, one := range fields.List(c.status(crd), "conditions") {
				is := one.(map[string]any)
				text += fmt.Sprintf("%v=%v %v;", is["type"], is["status"], is["message"])
			}
			_, noted := c.notes(crd)[v1alpha1.AnnotationRefused]
			return text + fmt.Sprint(c.status(crd)["storedVersions"], noted)
		}
		refused := &store.Report{OriginUID: "uid-" + crd.Name,
			Error: &store.ReportError{Reason: "DefinitionNotAllowed", Message: "the site denies it"}}
		const none, one = "Established=True <nil>;[v1] false",
			"Established=True <nil>;" + v1alpha1.ConditionObjectSynced + "=False a: the site denies it;[v1] true"
		for range 2 {
			c.says("a", crd, refused)
			c.eventually("the condition", func() bool { return says() == one })
			c.says("a", crd, &store.Report{OriginUID: "uid-" + crd.Name})
			c.eventually("no condition", func() bool { return says() == none })
		}
		c.says("a", crd, refused)
		c.eventually("the condition", func() bool { return says() == one })
		c.says("a", crd, refused)
		c.mu.Lock()
		delete(c.placed, crd)
		c.mu.Unlock()
		c.s.queue.Add(crd)
		c.eventually("it has left its targets", func() bool { return says() == none })
	})
}

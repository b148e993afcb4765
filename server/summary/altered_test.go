package summary

import (
	"strings"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

// What a target takes off an object is told on it, once, with the target's name, and is no refusal.
func TestWhatTargetsAlterIsTold(t *testing.T) { synctest.Test(t, whatTargetsAlterIsTold) }

func whatTargetsAlterIsTold(t *testing.T) {
	c := newCenter(t)
	cm := key("", "configmaps", "plain")
	c.place(web, "apps/v1", "Deployment", "a", "b")
	c.place(cm, "v1", "ConfigMap", "a")
	const off = "its admission or schema took off .spec.x"
	altered := func(k store.Key, text string) *store.Report {
		return &store.Report{OriginUID: "uid-" + k.Name, Status: status(`{"replicas":3}`), Altered: text}
	}
	events := func() (n int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for k, o := range c.objects {
			if k.Resource == "events" && o["reason"] == "FieldsAltered" && strings.HasSuffix(o["message"].(string), ": "+off) {
				n++
			}
		}
		return n
	}
	condition := func(t string) map[string]any { return byType(ours, c.status(web)["conditions"])[t] }
	note := func() string {
		o, _ := c.Get(t.Context(), cm, "v1")
		return fields.String(fields.Map(fields.Map(o, "metadata"), "annotations"), v1alpha1.AnnotationAltered)
	}
	c.says("a", web, altered(web, ""))
	c.says("b", web, altered(web, off))
	c.says("a", cm, altered(cm, off))
	c.eventually("the condition", func() bool {
		is := condition(v1alpha1.ConditionObjectAltered)
		return is["status"] == "True" && is["message"] == "b: "+off
	})
	c.eventually("the annotation", func() bool { return note() == "a: "+off })
	c.eventually("the events", func() bool { return events() == 2 })
	if is := condition(v1alpha1.ConditionObjectSynced); is != nil {
		t.Errorf("it counts as refused: %v", is)
	}
	if n := c.s.Tally("b", 1); n.Refused != 0 {
		t.Errorf("%d objects count as refused", n.Refused)
	}
	synctest.Wait() // what else is to be written has been
	writes := c.count()
	c.says("b", web, altered(web, ""))
	c.says("a", cm, altered(cm, ""))
	c.eventually("no condition", func() bool { return condition(v1alpha1.ConditionObjectAltered) == nil })
	c.eventually("no annotation", func() bool { return note() == "" })
	synctest.Wait()
	if n := c.count() - writes; n != 2 {
		t.Errorf("%d writes to take two words off", n)
	}
}

package delivery

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/store"
)

// A relay knows of an import that its parent has sent which Services answer for it, as long as the parent says so, and
// tells it to a relay below.
func TestARelayKnowsWhatAnswersForAnImport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.noDoors()
		for _, space := range []string{"base", "more", "away"} {
			c.space(space)
			c.put(catalog.NamespaceKey(space, "app"), obj("v1", "Namespace", m{"name": "app", "labels": m{v1alpha1.LabelTarget: "a"}}))
		}
		c.namespace("app", m{v1alpha1.LabelTarget: "a"})
		c.web("")
		sent := func(space, name string, more m) store.Key {
			k, of := store.Key{Space: space, Resource: "services", Namespace: "app", Name: name}, meta(name)
			of["namespace"], of["generation"] = "app", 1
			notes := m{v1alpha1.AnnotationOrigin: space + "/", v1alpha1.AnnotationOriginUID: "u-" + space,
				v1alpha1.AnnotationReach: string(v1alpha1.ReachSpace)}
			for key, value := range more {
				if key == "label" {
					of["labels"] = m{v1alpha1.LabelImported: value}
					continue
				} else if value == nil {
					delete(notes, key)
					continue
				}
				notes[key] = value
			}
			of["annotations"] = notes
			c.put(k, obj("v1", "Service", of, "spec", m{"selector": m{"app": name}, "ports": []any{m{"port": 80}}}))
			return k
		}
		derived := v1alpha1.ServiceOfImport("db")
		imports := func(label, exporters string) store.Key {
			return sent("shop", derived, m{"label": label, v1alpha1.AnnotationMembers: "base,shop,more",
				v1alpha1.AnnotationExporters: exporters})
		}
		k := imports("db", "base,more,nosuch")
		base := sent("base", "db", nil)
		sent("more", "db", m{v1alpha1.AnnotationOriginUID: nil})
		is := func(want ...store.Key) func() bool {
			return func() bool {
				service, all, is := ExportedOf(c.d)(k)
				expect := map[store.Key]string{}
				for _, k := range want {
					expect[k] = c.uid(k)
				}
				return is && service == "db" && fmt.Sprint(all) == fmt.Sprint(expect)
			}
		}
		c.eventually("what the parent has sent, and nothing of this relay's own", is(base))
		more := sent("more", "db", nil)
		c.eventually("both", is(base, more))
		c.eventually("what is below hears it, too", func() bool {
			return strings.Contains(c.bodyOf("a", k), `"skerry.dev/exporters":"base,more,nosuch"`)
		})
		c.restart()
		c.eventually("both after a restart", is(base, more))
		imports("db", "more")
		c.eventually("one is exported no more", is(more))
		c.put(more, nil)
		c.eventually("and the other has gone", is())
		_, _, of := ExportedOf(c.d)(base)
		imports("another", "base")
		c.eventually("a label that somebody has written", func() bool { _, _, is := ExportedOf(c.d)(k); return !is && !of })
		imports("db", "base")
		c.eventually("as the parent says", is(base))
		sent("shop", derived, m{"label": "db", v1alpha1.AnnotationExporters: "base", v1alpha1.AnnotationMembers: ""})
		c.eventually("it has no members", func() bool { _, _, is := ExportedOf(c.d)(k); return !is })
		sent("shop", derived, m{"label": "db", v1alpha1.AnnotationOriginUID: nil, v1alpha1.AnnotationMembers: "base,shop",
			v1alpha1.AnnotationExporters: "base"})
		c.eventually("no parent has sent it", func() bool { _, _, is := ExportedOf(c.d)(k); return !is })
	})
}

package delivery

import (
	"maps"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// What a definition says of conditions comes with where its objects are, until it says it no more.
func TestADefinitionSaysWhatIsGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", nil)
		crd := store.Key{Space: "shop", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions",
			Name: "widgets.example.com"}
		define := func(says any) {
			of := meta(crd.Name)
			of["annotations"] = m{v1alpha1.AnnotationConditions: says}
			c.put(crd, obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", of))
		}
		define("Healthy=True,OutOfSync=False")
		widget := c.along("example.com", "widgets", "example.com/v1", "Widget", "w", nil, m{})
		says := func() placement.GoodConditions {
			at, _ := c.d.Located(widget)
			return at.Conditions
		}
		c.eventually("said", func() bool {
			return maps.Equal(says(), placement.GoodConditions{"Healthy": true, "OutOfSync": false})
		})
		c.put(store.Key{Space: "shop", Resource: "configmaps", Namespace: "app", Name: crd.Name},
			obj("v1", "ConfigMap", meta(crd.Name)))
		if len(says()) != 2 {
			t.Errorf("after another object of its name it says %v", says())
		}
		define("Healthy=maybe")
		if says() != nil {
			t.Errorf("what means nothing says %v", says())
		}
		define("Healthy=False")
		c.put(crd, nil)
		if says() != nil {
			t.Errorf("a definition that is gone says %v", says())
		}
	})
}

package delivery

import (
	"slices"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
)

// companions are what a review of an object says of what goes along, and of what stays.
func (c *center) companions(group, resource, name string) (goes, stays []string) {
	c.t.Helper()
	s, err := c.d.Review(c.t.Context(), "shop", v1alpha1.PlacementReviewSpec{Object: &v1alpha1.ReviewedObject{
		APIGroup: group, Resource: resource, Namespace: "app", Name: name}})
	if err != nil {
		c.t.Fatal(err)
	}
	lines := func(list []v1alpha1.ReviewedCompanion) (out []string) {
		for _, l := range list {
			out = append(out, l.Object.Resource+"/"+l.Object.Name+": "+l.Because)
		}
		return out
	}
	return lines(s.GoesAlong), lines(s.StaysBehind)
}

func (c *center) saysOf(group, resource, name string, goes, stays []string) {
	c.t.Helper()
	c.eventually("the review says so", func() bool {
		g, s := c.companions(group, resource, name)
		return slices.Equal(g, goes) && slices.Equal(s, stays)
	})
}

// What is said to go along is where the object is, and what is said to stay is not.
func TestAReviewSaysWhatGoesAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", m{v1alpha1.LabelTarget: "b"})
		web, service := c.web(""), c.webService(nil)
		c.autoscaler()
		ingress := c.along("networking.k8s.io", "ingresses", "networking.k8s.io/v1", "Ingress", "web", nil,
			m{"defaultBackend": m{"service": m{"name": "web"}}, "tls": []any{m{"secretName": "cert"}, m{"secretName": "none"}}})
		c.put(key("", "secrets", "cert"), obj("v1", "Secret", m{"name": "cert", "namespace": "app"}))
		deny := func(labels m) {
			c.along("networking.k8s.io", "networkpolicies", "networking.k8s.io/v1", "NetworkPolicy", "deny", labels,
				m{"podSelector": m{}})
		}
		deny(nil)
		c.along("", "services", "v1", "Service", "other", nil, m{"selector": m{"app": "other"}})
		scaled := "horizontalpodautoscalers/web: it names deployments/web"
		selected := "services/web: it selects the pods of deployments/web"
		routed := []string{"ingresses/web: it names services/web", "secrets/cert: ingresses/web names it"}
		all := slices.Concat([]string{scaled, "networkpolicies/deny: it selects the pods of deployments/web", selected}, routed)
		c.saysOf("apps", "deployments", "web", all, nil)
		c.saysOf("", "services", "web", routed, nil)
		c.saysOf("", "services", "other", nil, nil)
		if s, err := c.d.Review(t.Context(), "shop", v1alpha1.PlacementReviewSpec{Object: &v1alpha1.ReviewedObject{
			Resource: "namespaces", Name: "app"}}); err != nil || len(s.GoesAlong)+len(s.StaysBehind) != 0 {
			t.Errorf("of a Namespace: %+v %v", s, err)
		}
		deny(m{v1alpha1.LabelTarget: "b"})
		c.web("a")
		own := "networkpolicies/deny: it selects the pods of deployments/web, and is on b by its label " + v1alpha1.LabelTarget
		c.saysOf("apps", "deployments", "web", slices.Concat([]string{scaled, selected}, routed), []string{own})
		c.eventually("it is so", func() bool {
			return c.has("a", web) && c.has("a", service) && c.has("a", ingress) && c.has("a", key("", "secrets", "cert")) &&
				!c.has("a", key("networking.k8s.io", "networkpolicies", "deny"))
		})
		c.put(placementOf("only"), obj("skerry.dev/v1alpha1", "Placement", meta("only"), "spec", m{
			"objects": []any{m{"names": []any{"web"}, "resources": []any{"deployments"}}}, "includeDependencies": false,
			"targets": m{"names": []any{"a"}}}))
		c.web("")
		c.saysOf("apps", "deployments", "web", nil, []string{
			"horizontalpodautoscalers/web: it names deployments/web, and Placement only has includeDependencies: false",
			own,
			"services/web: it selects the pods of deployments/web, and Placement only has includeDependencies: false"})
	})
}

// A governing Service is where its StatefulSet is, whatever its own label says.
func TestAReviewSaysThatWhatIsNamedGoesAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", m{v1alpha1.LabelTarget: "b"})
		db, of := key("apps", "statefulsets", "db"), meta("db")
		of["namespace"], of["generation"], of["labels"] = "app", 1, m{v1alpha1.LabelTarget: "a"}
		c.put(db, obj("apps/v1", "StatefulSet", of, "spec", m{"serviceName": "db",
			"template": m{"metadata": m{"labels": m{"app": "db"}}, "spec": m{}}}))
		service := c.along("", "services", "v1", "Service", "db", m{v1alpha1.LabelTarget: "b"}, m{"selector": m{"app": "db"}})
		c.saysOf("apps", "statefulsets", "db", []string{"services/db: statefulsets/db names it"}, nil)
		c.eventually("it is so", func() bool { return c.has("a", db) && c.has("a", service) && c.has("b", service) })
		if s := c.saidScheduled(db); s.Reason == catalog.SelectsElsewhere {
			t.Errorf("it says %q", s.Message)
		}
	})
}

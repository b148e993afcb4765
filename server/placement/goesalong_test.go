package placement

import (
	"slices"
	"testing"

	"skerry.dev/skerry/store"
)

func TestFollowerOf(t *testing.T) {
	type m = map[string]any
	web := []ObjectName{{Kind: "Service", Name: "web"}}
	for _, c := range []struct {
		name, group, resource string
		spec                  m
		selector              string
		names                 []ObjectName
		only, none            bool
	}{
		{name: "a Service", resource: "services", spec: m{"selector": m{"app": "web"}}, selector: "app=web"},
		{name: "of one pod of a StatefulSet", resource: "services",
			spec:  m{"selector": m{"statefulset.kubernetes.io/pod-name": "my-db-0"}},
			names: []ObjectName{{Group: "apps", Kind: "StatefulSet", Name: "my-db"}}},
		{name: "without a selector", resource: "services", spec: m{"ports": []any{}}, none: true},
		{name: "of another name", resource: "services", none: true,
			spec: m{"type": "ExternalName", "selector": m{"app": "web"}}},
		{name: "a policy for all pods", group: "networking.k8s.io", resource: "networkpolicies", spec: m{"podSelector": m{}}},
		{name: "a budget for all pods", group: "policy", resource: "poddisruptionbudgets", spec: m{"selector": m{}}},
		{name: "a budget for none", group: "policy", resource: "poddisruptionbudgets", spec: m{}, none: true},
		{name: "an Ingress", group: "networking.k8s.io", resource: "ingresses", names: web, spec: m{"rules": []any{
			m{"http": m{"paths": []any{m{"backend": m{"service": m{"name": "web"}}}, m{"backend": m{"resource": m{}}}}}}}}},
		{name: "a route", group: gatewayGroup, resource: "grpcroutes", names: web, spec: m{"rules": []any{m{"backendRefs": []any{
			m{"name": "web"}, m{"name": "far", "namespace": "other"}, m{"name": "bucket", "kind": "Bucket"}}}}}},
		{name: "an autoscaler", group: "autoscaling", resource: "horizontalpodautoscalers", only: true,
			spec:  m{"scaleTargetRef": m{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
			names: []ObjectName{{Group: "apps", Kind: "Deployment", Name: "web"}}},
		{name: "a gateway", group: gatewayGroup, resource: "gateways", spec: m{"rules": []any{}}, none: true},
	} {
		k := store.Key{Space: "shop", Group: c.group, Resource: c.resource, Namespace: "app", Name: "x"}
		f := FollowerOf(k, m{"spec": c.spec})
		if f == nil || c.none {
			if (f == nil) != c.none {
				t.Errorf("%s follows %+v", c.name, f)
			}
			continue
		}
		selects := ""
		if f.Selector != nil {
			selects = f.Selector.String()
		}
		if selects != c.selector || !slices.Equal(f.Names, c.names) || f.Only != c.only {
			t.Errorf("%s follows %q %v, only %t", c.name, selects, f.Names, f.Only)
		}
	}
	job := m{"spec": m{"jobTemplate": m{"spec": m{"template": m{"metadata": m{"labels": m{"app": "report"}}}}}}}
	if l, runs := PodLabels(store.Key{Group: "batch", Resource: "cronjobs"}, job); !runs || l["app"] != "report" {
		t.Errorf("pods of a CronJob: %v, %t", l, runs)
	}
	if _, runs := PodLabels(store.Key{Resource: "configmaps"}, job); runs {
		t.Error("a ConfigMap has pods")
	}
}

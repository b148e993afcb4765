package placement

import "testing"

func TestClassOf(t *testing.T) {
	for _, x := range []struct {
		group, resource string
		want            Class
	}{
		{"apps", "deployments", Placed},
		{"", "services", Placed},
		{"", "endpoints", Placed}, // of a Service without a selector: it is nothing without them
		{"example.com", "widgets", Placed},
		{"", "namespaces", Both},
		{"", "serviceaccounts", Inert},
		{"", "resourcequotas", Inert},
		{"", "limitranges", Placed},
		{"rbac.authorization.k8s.io", "clusterroles", Inert},
		{"", "events", Never},
		{"discovery.k8s.io", "endpointslices", Placed}, // mirrors of a target's stay out one by one
	} {
		if got := ClassOf(x.group, x.resource); got != x.want {
			t.Errorf("%s.%s: class %d, want %d", x.resource, x.group, got, x.want)
		}
	}
}

package customize_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"skerry.dev/skerry/server/customize"
)

// What a Service is besides its name does not go to where none of its Pods are.
func TestName(t *testing.T) {
	type m = map[string]any
	ports := func(port m) []any { return []any{port} }
	for name, c := range map[string]struct {
		spec, want m
		more       bool
	}{
		"a ClusterIP": {
			m{"selector": m{"app": "web"}, "internalTrafficPolicy": "Cluster", "ports": ports(m{"port": 80.0})},
			m{"type": "ClusterIP", "selector": m{"app": "web"}, "ports": ports(m{"port": 80.0})}, false},
		"a node port": {
			m{"type": "NodePort", "externalTrafficPolicy": "Local", "ports": ports(m{"port": 80.0, "nodePort": 30080.0})},
			m{"type": "ClusterIP", "ports": ports(m{"port": 80.0})}, true},
		"a load balancer": {
			m{"type": "LoadBalancer", "loadBalancerClass": "a", "loadBalancerIP": "b", "loadBalancerSourceRanges": []any{"c"},
				"allocateLoadBalancerNodePorts": false, "healthCheckNodePort": 30081.0, "sessionAffinity": "ClientIP"},
			m{"type": "ClusterIP", "sessionAffinity": "ClientIP"}, true},
		"external addresses": {m{"externalIPs": []any{"192.0.2.1"}}, m{"type": "ClusterIP"}, true},
		"its node alone":     {m{"internalTrafficPolicy": "Local"}, m{"type": "ClusterIP"}, true},
	} {
		service := m{"metadata": m{"name": "web"}, "spec": c.spec}
		if got := customize.HasMoreThanName(service); got != c.more {
			t.Errorf("%s: more than a name %v", name, got)
		}
		body, err := json.Marshal(service)
		if err != nil {
			t.Fatal(err)
		}
		var got m
		if body, err = customize.Name(body); err == nil {
			err = json.Unmarshal(body, &got)
		}
		if want := (m{"metadata": m{"name": "web"}, "spec": c.want}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, want)
		}
	}
	for _, broken := range []string{"{", "{}", `{"spec":1}`} {
		if got, err := customize.Name([]byte(broken)); err == nil {
			t.Errorf("%s is %s", broken, got)
		}
	}
}

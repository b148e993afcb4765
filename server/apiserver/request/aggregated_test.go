package request

import (
	"net/http"
	"testing"
)

func TestWantsAggregated(t *testing.T) {
	const (
		v2    = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
		beta  = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
		proto = "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	)
	for _, c := range []struct {
		name   string
		accept []string
		want   bool
	}{
		{"nothing", nil, false},
		{"plain", []string{"application/json"}, false},
		{"since 1.30", []string{v2 + "," + beta + ",application/json"}, true},
		{"two headers", []string{beta, v2}, true},
		{"1.26 to 1.29", []string{beta + ",application/json"}, false},
		{"plain first", []string{"application/json, " + v2}, false},
		{"protobuf", []string{proto + ",application/json"}, false},
		{"another group", []string{"application/json;g=other;v=v2;as=APIGroupDiscoveryList"}, false},
		{"broken", []string{";;,application/json;as", v2}, true},
	} {
		if got := WantsAggregated(http.Header{"Accept": c.accept}); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

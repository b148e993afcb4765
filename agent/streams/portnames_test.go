package streams

import (
	"slices"
	"testing"

	"skerry.dev/skerry/agent/target"
)

// A NetworkPolicy may name a port by each of its names, and one of a sidecar.
func TestNamesOfAPort(t *testing.T) {
	live := &target.Object{Spec: []byte(`{
		"containers": [{"ports": [{"name": "http", "containerPort": 80}, {"name": "metrics", "containerPort": 80},
			{"name": "dns", "containerPort": 80, "protocol": "UDP"}, {"containerPort": 80}]}],
		"initContainers": [
			{"restartPolicy": "Always", "ports": [{"name": "proxy", "containerPort": 80}]},
			{"ports": [{"name": "over", "containerPort": 80}]}]}`)}
	if got := namesOf(live, 80); !slices.Equal(got, []string{"http", "metrics", "proxy"}) {
		t.Errorf("%q", got)
	}
}

package server_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// pruned: `kubectl apply --prune` fails unless each kind is served that it may remove, see k8s.io/kubectl/pkg/util/prune.
func pruned(t *testing.T, c *center) {
	have := map[string]bool{}
	_, resources, err := clients(t, c.admin("team")).Discovery().ServerGroupsAndResources()
	must(t, err)
	for _, list := range resources {
		for _, r := range list.APIResources {
			have[list.GroupVersion+"/"+r.Name] = true
		}
	}
	for _, kind := range strings.Fields(`v1/configmaps v1/endpoints v1/namespaces v1/persistentvolumeclaims v1/persistentvolumes v1/pods
		v1/replicationcontrollers v1/secrets v1/services batch/v1/jobs batch/v1/cronjobs networking.k8s.io/v1/ingresses apps/v1/daemonsets
		apps/v1/deployments apps/v1/replicasets apps/v1/statefulsets`) {
		if !have[kind] {
			t.Errorf("%s is not served", kind)
		}
	}
	made := object("v1", "Endpoints", "default", "database")
	made.Object["subsets"] = []any{map[string]any{"addresses": []any{map[string]any{"ip": "192.0.2.7"}}, "ports": []any{map[string]any{"port": int64(5432)}}}}
	_, err = dyn(t, c.admin("team")).Resource(schema.GroupVersionResource{Version: "v1", Resource: "endpoints"}).Namespace("default").
		Create(t.Context(), made, metav1.CreateOptions{})
	must(t, err)
}

package server_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// leftOut is what a cluster serves at a stable version and a space does not; apiserver/README.md
// has the reasons.
const leftOut = `v1/bindings v1/componentstatuses v1/nodes/proxy v1/nodes/status
	v1/pods/binding v1/pods/resize
	networking.k8s.io/v1/servicecidrs/status
	resource.k8s.io/v1/devicetaintrules resource.k8s.io/v1/devicetaintrules/status
	certificates.k8s.io/v1/clustertrustbundles certificates.k8s.io/v1/podcertificaterequests certificates.k8s.io/v1/podcertificaterequests/status
	storagemigration.k8s.io/v1/storageversionmigrations storagemigration.k8s.io/v1/storageversionmigrations/status
	storage.k8s.io/v1/csinodes/status storage.k8s.io/v1/volumeattachments/status`

// stable: each resource that a cluster serves at a stable version is served, or is left out with a
// reason.
func stable(t *testing.T, c *center) {
	have := served(t, c)
	missing := map[string]bool{}
	for _, name := range strings.Fields(leftOut) {
		missing[name] = true
	}
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	must(t, err)
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "api/discovery/api*__v*.json"))
	must(t, err)
	number, all := regexp.MustCompile(`__v[0-9]+\.json$`), 0
	for _, file := range files {
		if !number.MatchString(file) {
			continue
		}
		raw, err := os.ReadFile(file)
		must(t, err)
		var list metav1.APIResourceList
		must(t, json.Unmarshal(raw, &list))
		for _, r := range list.APIResources {
			name := list.GroupVersion + "/" + r.Name
			all++
			if have[name] == missing[name] {
				t.Errorf("%s: served %v, declared to be left out %v", name, have[name], missing[name])
			}
			delete(missing, name)
		}
	}
	if all < 100 || len(missing) > 0 {
		t.Errorf("upstream has %d resources, and not %v", all, missing)
	}
}

// served is every resource in the discovery of a space, with its group and version.
func served(t *testing.T, c *center) map[string]bool {
	have := map[string]bool{}
	_, resources, err := clients(t, c.admin("team")).Discovery().ServerGroupsAndResources()
	must(t, err)
	for _, list := range resources {
		for _, r := range list.APIResources {
			have[list.GroupVersion+"/"+r.Name] = true
		}
	}
	return have
}

// preferred: each group of an API has the version that it prefers.
func preferred(t *testing.T, c *center) {
	api := clients(t, c.admin("team")).Discovery().RESTClient()
	var groups metav1.APIGroupList
	must(t, api.Get().AbsPath("/apis/").Do(t.Context()).Into(&groups))
	for _, g := range groups.Groups {
		var one metav1.APIGroup
		must(t, api.Get().AbsPath("/apis/"+g.Name+"/").Do(t.Context()).Into(&one))
		if !slices.Contains(one.Versions, one.PreferredVersion) || !slices.Contains(g.Versions, g.PreferredVersion) {
			t.Errorf("group %s prefers %s and has %v", g.Name, one.PreferredVersion.GroupVersion, one.Versions)
		}
	}
	if len(groups.Groups) < 10 {
		t.Errorf("there are only %d groups", len(groups.Groups))
	}
}

// pruned: `kubectl apply --prune` fails unless each kind is served that it may remove, see
// k8s.io/kubectl/pkg/util/prune.
func pruned(t *testing.T, c *center) {
	have := served(t, c)
	for _, kind := range strings.Fields(`v1/configmaps v1/endpoints v1/namespaces v1/persistentvolumeclaims v1/persistentvolumes v1/pods
		v1/replicationcontrollers v1/secrets v1/services batch/v1/jobs batch/v1/cronjobs networking.k8s.io/v1/ingresses apps/v1/daemonsets
		apps/v1/deployments apps/v1/replicasets apps/v1/statefulsets`) {
		if !have[kind] {
			t.Errorf("%s is not served", kind)
		}
	}
	made := object("v1", "Endpoints", "default", "database")
	made.Object["subsets"] = []any{
		map[string]any{
			"addresses": []any{map[string]any{"ip": "192.0.2.7"}},
			"ports":     []any{map[string]any{"port": int64(5432)}},
		},
	}
	_, err := dyn(
		t,
		c.admin("team"),
	).Resource(
		schema.GroupVersionResource{Version: "v1", Resource: "endpoints"},
	).Namespace(
		"default",
	).
		Create(
			t.Context(),
			made,
			metav1.CreateOptions{},
		)
	must(t, err)
}

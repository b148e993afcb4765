package target_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
)

// All forms of the discovery of a cluster say the same.
func TestWhatAClusterServes(t *testing.T) {
	for form, handle := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"groups": nil,
		"aggregated": func(w http.ResponseWriter, r *http.Request) bool {
			switch r.URL.Path {
			case "/api":
				fmt.Fprint(w, `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{},"versions":[`+
					`{"version":"v1","resources":[{"resource":"pods"}]}]}]}`)
			case "/apis":
				fmt.Fprint(w, `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"apps"},"versions":[`+
					`{"version":"v1","resources":[{"resource":"deployments"}]}]},{"metadata":{"name":"about.k8s.io"},`+
					`"versions":[{"version":"v1beta1","resources":[{"resource":"clusterproperties"}]}]}]}`)
			default:
				return false
			}
			return true
		},
	} {
		s := targettest.New(t)
		s.Put("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "clusterproperties.about.k8s.io",
			map[string]any{"spec": map[string]any{
				"group": "about.k8s.io", "scope": "Cluster", "versions": []any{map[string]any{"name": "v1beta1"}},
				"names": map[string]any{"plural": "clusterproperties", "kind": "ClusterProperty"},
			}})
		client, err := target.NewClients(target.Cluster(s.Config())).For(target.RootSpace)
		if err != nil {
			t.Fatal(err)
		}
		for t.Context().Err() == nil { // until the kind is served
			if served, err := client.Versions(t.Context(), "about.k8s.io"); err == nil && len(served) > 0 {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		s.Put("about.k8s.io/v1beta1", "ClusterProperty", "", "cluster.clusterset.k8s.io",
			map[string]any{"spec": map[string]any{"value": "eu-1"}})
		s.Handle(handle)
		var got []string
		named := func(group string) bool { return group == "about.k8s.io" }
		err = client.APIs(t.Context(), named, func(group, version string, resources []string) {
			got = append(got, group+"/"+version)
			if named(group) {
				for _, r := range resources {
					got = append(got, group+"/"+version+"/"+r)
				}
			}
		})
		if err != nil {
			t.Fatal(form, err)
		}
		for _, want := range []string{"/v1", "apps/v1", "about.k8s.io/v1beta1", "about.k8s.io/v1beta1/clusterproperties"} {
			if !slices.Contains(got, want) {
				t.Errorf("%s: %s is not in %v", form, want, got)
			}
		}
		values := map[string]string{}
		err = client.Properties(t.Context(), "v1beta1", func(p *target.ClusterProperty) {
			values[p.Metadata.Name] = p.Spec.Value
		})
		if err != nil || values["cluster.clusterset.k8s.io"] != "eu-1" {
			t.Errorf("%s: %v %v", form, values, err)
		}
	}
}

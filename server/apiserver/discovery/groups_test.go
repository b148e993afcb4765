package discovery

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/apiserver/inventory"
)

// A client gets the version of aggregated discovery that it asks for, or the plain list.
func TestGroupsInTheFormAskedFor(t *testing.T) {
	native := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", AggregatedType)
		_ = json.NewEncoder(w).Encode(apidiscovery.APIGroupDiscoveryList{Items: []apidiscovery.APIGroupDiscovery{{
			ObjectMeta: metav1.ObjectMeta{Name: "apps"},
			Versions:   []apidiscovery.APIVersionDiscovery{{Version: "v1"}},
		}}})
	})
	const beta = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
	for accept, want := range map[string]string{
		AggregatedType + "," + beta + ",application/json": AggregatedType,
		beta + ",application/json":                        "application/json",
		"":                                                "application/json",
	} {
		r := httptest.NewRequest(http.MethodGet, "/apis", nil)
		if accept != "" {
			r.Header.Set("Accept", accept)
		}
		w := httptest.NewRecorder()
		ServeGroups(w, r, native, nil)
		if got := w.Header().Get("Content-Type"); got != want {
			t.Errorf("Accept %q: content type %q, want %q", accept, got, want)
		}
		var plain metav1.APIGroupList
		if err := json.Unmarshal(w.Body.Bytes(), &plain); err != nil {
			t.Fatal(err)
		}
		if want == "application/json" && (len(plain.Groups) != 1 || plain.Groups[0].Name != "apps") {
			t.Errorf("Accept %q: groups %v", accept, plain.Groups)
		}
	}
}

// A space's own kinds in the group of the inventory stand beside those that are shown, which can only
// be read.
func TestAGroupThatIsSharedWithTheInventory(t *testing.T) {
	group := func(resource string) apidiscovery.APIGroupDiscovery {
		return apidiscovery.APIGroupDiscovery{
			ObjectMeta: metav1.ObjectMeta{Name: inventory.Group},
			Versions: []apidiscovery.APIVersionDiscovery{{Version: inventory.Version, Resources: []apidiscovery.APIResourceDiscovery{{
				Resource: resource, Verbs: []string{"create", "deletecollection", "get", "list", "watch"},
				Subresources: []apidiscovery.APISubresourceDiscovery{{Subresource: "status"}}}}}},
		}
	}
	var all apidiscovery.APIGroupDiscoveryList
	addGroup(&all, visible(group(inventory.Profiles), "shop"))
	addGroup(&all, visible(group("serviceexports"), "shop"))
	if len(all.Items) != 1 || len(all.Items[0].Versions) != 1 || len(all.Items[0].Versions[0].Resources) != 2 {
		t.Fatalf("%+v", all.Items)
	}
	shown, own := all.Items[0].Versions[0].Resources[0], all.Items[0].Versions[0].Resources[1]
	if !slices.Equal(shown.Verbs, inventory.Verbs()) || len(shown.Subresources) != 0 {
		t.Errorf("profiles can be written: %v", shown)
	}
	if len(own.Verbs) != 5 || len(own.Subresources) != 1 {
		t.Errorf("the space's own kind lost verbs: %v", own)
	}
}

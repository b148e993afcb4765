package discovery

import (
	"encoding/json"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/apiserver/inventory"
	"skerry.dev/skerry/server/apiserver/response"
)

// ServeInventoryGroup answers for the group of package inventory: with its version, and with those in
// which the space defines kinds of its own. own has the definitions of the package, space the others.
func ServeInventoryGroup(w http.ResponseWriter, r *http.Request, own, space http.Handler) {
	a := response.Ask(own, r, r.URL.Path, JSONType)
	var group, more metav1.APIGroup
	if a.Code != http.StatusOK || json.Unmarshal(a.Body, &group) != nil {
		a.Replay(w)
		return
	}
	if b := response.Ask(space, r, r.URL.Path, JSONType); b.Code == http.StatusOK &&
		json.Unmarshal(b.Body, &more) == nil {
		for _, v := range more.Versions {
			if !slices.Contains(group.Versions, v) {
				group.Versions = append(group.Versions, v)
			}
		}
	}
	response.WriteJSON(w, r, JSONType, group)
}

// ServeInventoryResources lists the kinds of package inventory, which can only be read, and those that
// the space defines in their version.
func ServeInventoryResources(w http.ResponseWriter, r *http.Request, own, space http.Handler) {
	a := response.Ask(own, r, r.URL.Path, JSONType)
	var list, more metav1.APIResourceList
	if a.Code != http.StatusOK || json.Unmarshal(a.Body, &list) != nil {
		a.Replay(w)
		return
	}
	list.APIResources = slices.DeleteFunc(list.APIResources, func(res metav1.APIResource) bool {
		return res.Kind == "" || res.Name != inventory.Profiles && res.Name != inventory.Decisions
	})
	for i := range list.APIResources {
		list.APIResources[i].Verbs = inventory.Verbs()
	}
	if b := response.Ask(space, r, r.URL.Path, JSONType); b.Code == http.StatusOK &&
		json.Unmarshal(b.Body, &more) == nil {
		list.APIResources = append(list.APIResources, more.APIResources...)
	}
	response.WriteJSON(w, r, JSONType, list)
}

package discovery

import (
	"encoding/json"
	"net/http"
	"slices"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/apiserver/inventory"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
)

// AggregatedType is the content type of aggregated discovery.
const AggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// ServeGroups answers /apis with the built-in groups, skerry.dev, and the groups of the space's own
// definitions.
func ServeGroups(w http.ResponseWriter, r *http.Request, native http.Handler, servers []Part) {
	base := response.Ask(native, r, "/apis", AggregatedType)
	var all apidiscovery.APIGroupDiscoveryList
	if base.Code != http.StatusOK || json.Unmarshal(base.Body, &all) != nil {
		base.Replay(w)
		return
	}
	space := request.Space(r.Context())
	for _, s := range servers {
		var more apidiscovery.APIGroupDiscoveryList
		if a := response.Ask(s.Server.Discovery(), r, "/apis", AggregatedType); json.Unmarshal(a.Body, &more) != nil {
			a.Replay(w)
			return
		}
		for _, g := range more.Items {
			if s.has(g.Name) {
				addGroup(&all, visible(g, space))
			}
		}
	}
	if request.WantsAggregated(r.Header) {
		response.WriteJSON(w, r, AggregatedType, all)
		return
	}
	response.WriteJSON(w, r, "application/json", groupList(all))
}

// visible removes the groups and resources that exist in root only, and the verbs of what is only
// shown.
func visible(g apidiscovery.APIGroupDiscovery, space string) apidiscovery.APIGroupDiscovery {
	if g.Name == inventory.Group {
		return shown(g)
	}
	if "/apis/"+g.Name != OwnGroup {
		return g
	}
	versions := slices.Clone(g.Versions)
	for i := range versions {
		kept := make([]apidiscovery.APIResourceDiscovery, 0, len(versions[i].Resources))
		for _, r := range versions[i].Resources {
			if r.Verbs = verbs(r.Resource, space, r.Verbs); r.Verbs != nil {
				kept = append(kept, r)
			}
		}
		versions[i].Resources = kept
	}
	g.Versions = versions
	return g
}

// shown takes the verbs of writing off the kinds of package inventory.
func shown(g apidiscovery.APIGroupDiscovery) apidiscovery.APIGroupDiscovery {
	g.Versions = slices.Clone(g.Versions)
	for i := range g.Versions {
		g.Versions[i].Resources = slices.Clone(g.Versions[i].Resources)
		for j := range g.Versions[i].Resources {
			if r := &g.Versions[i].Resources[j]; inventory.Kind(r.Resource) != "" {
				r.Verbs, r.Subresources = inventory.Verbs(), nil
			}
		}
	}
	return g
}

// addGroup adds a group, or those of its versions that are missing. A space may define kinds of its
// own in the group of package inventory.
func addGroup(all *apidiscovery.APIGroupDiscoveryList, g apidiscovery.APIGroupDiscovery) {
	i := slices.IndexFunc(all.Items, func(have apidiscovery.APIGroupDiscovery) bool { return have.Name == g.Name })
	if i < 0 {
		all.Items = append(all.Items, g)
		return
	}
	for _, v := range g.Versions {
		j := slices.IndexFunc(all.Items[i].Versions,
			func(have apidiscovery.APIVersionDiscovery) bool { return have.Version == v.Version })
		switch {
		case j < 0:
			all.Items[i].Versions = append(all.Items[i].Versions, v)
		case g.Name == inventory.Group:
			have := &all.Items[i].Versions[j]
			have.Resources = append(slices.Clone(have.Resources), v.Resources...)
		}
	}
}

// groupList returns the same answer in the older form.
func groupList(all apidiscovery.APIGroupDiscoveryList) metav1.APIGroupList {
	out := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, g := range all.Items {
		group := metav1.APIGroup{Name: g.Name}
		for _, v := range g.Versions {
			group.Versions = append(
				group.Versions,
				metav1.GroupVersionForDiscovery{GroupVersion: g.Name + "/" + v.Version, Version: v.Version},
			)
		}
		if len(group.Versions) > 0 {
			group.PreferredVersion = group.Versions[0]
			out.Groups = append(out.Groups, group)
		}
	}
	return out
}

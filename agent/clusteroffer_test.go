package agent

import (
	"slices"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
)

// Of Kubernetes' own groups the versions are told alone, of others the resources as well.
func TestAnAgentTellsWhatItsClusterServes(t *testing.T) {
	inBubble(t, anAgentTellsWhatItsClusterServes)
}

func anAgentTellsWhatItsClusterServes(t *testing.T) {
	s := targettest.NewInMemory(t)
	a := &agent{clients: target.NewClients(target.Cluster(s.Config()))}
	offer, err := a.clusterOffer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(offer.Versions, "v1") || !slices.Contains(offer.Versions, "apps/v1") || len(offer.Resources) > 0 ||
		offer.Properties != nil {
		t.Errorf("%+v", offer)
	}
	s.Put("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "clusterproperties.about.k8s.io",
		map[string]any{"spec": map[string]any{
			"group": "about.k8s.io", "scope": "Cluster", "versions": []any{map[string]any{"name": "v1beta1"}},
			"names": map[string]any{"plural": "clusterproperties", "kind": "ClusterProperty"},
		}})
	eventually(t, "the kind is offered", func() bool {
		if offer, err = a.clusterOffer(t.Context()); err != nil {
			t.Fatal(err)
		}
		return slices.Contains(offer.Resources, "about.k8s.io/v1beta1/clusterproperties")
	})
	s.Put("about.k8s.io/v1beta1", "ClusterProperty", "", "tier", map[string]any{"spec": map[string]any{"value": "gold"}})
	if offer, err = a.clusterOffer(t.Context()); err != nil || offer.Properties["tier"] != "gold" {
		t.Errorf("%+v %v", offer, err)
	}
}

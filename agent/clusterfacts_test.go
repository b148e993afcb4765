package agent

import (
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/targettest"
)

// The classes of a cluster are offered to all spaces; those that came from a space are its own.
func TestClassesOfSpacesAreNoOffer(t *testing.T) { inBubble(t, classesOfSpacesAreNoOffer) }

func classesOfSpacesAreNoOffer(t *testing.T) {
	s := targettest.NewInMemory(t)
	a := &agent{clients: target.NewClients(target.Cluster(s.Config()))}
	for name, annotations := range map[string]any{"ours": nil, "theirs": map[string]any{target.AnnotationOrigin: "shop/"}} {
		s.Put("networking.k8s.io/v1", "IngressClass", "", name, map[string]any{
			"metadata": map[string]any{"name": name, "annotations": annotations},
			"spec":     map[string]any{"controller": "example.com/in"}})
	}
	facts, err := a.clusterFacts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range facts.Classes {
		names = append(names, c.Kind+"/"+c.Name)
	}
	if len(names) != 1 || names[0] != "IngressClass/ours" {
		t.Errorf("offered are %v", names)
	}
}

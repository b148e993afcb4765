package placement

import (
	"testing"

	"skerry.dev/skerry/store"
)

// What Customizers have changed at a target may have other replicas there than in the space.
func TestAVariantArrivesWithItsOwnReplicas(t *testing.T) {
	k := store.Key{Space: "s", Group: "apps", Resource: "deployments", Namespace: "n", Name: "web"}
	r := store.Report{OriginUID: "u", Generation: 1, Applied: store.Hash{1}.String(),
		Status: []byte(`{"observedGeneration":1,"replicas":1,"updatedReplicas":1,"availableReplicas":1}`)}
	d := Demand{UID: "u", Hash: store.Hash{1}, Replicas: 3}
	if why := Judge(k, r).Arrived(d); why == "" {
		t.Error("one replica of three counts as arrived")
	}
	r.Varied = true
	if why := Judge(k, r).Arrived(d); why != "" {
		t.Errorf("a variant with one replica has not arrived: %s", why)
	}
	r.Status = []byte(`{"observedGeneration":1,"replicas":2,"updatedReplicas":2,"availableReplicas":1,"unavailableReplicas":1}`)
	if why := Judge(k, r).Arrived(d); why == "" {
		t.Error("a variant counts as arrived while a replica of it is missing")
	}
}

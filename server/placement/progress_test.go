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

// An address is one that somebody outside of the cluster can use.
func TestWhatHasAnAddress(t *testing.T) {
	service, ingress := store.Key{Resource: "services"}, store.Key{Group: "networking.k8s.io", Resource: "ingresses"}
	for _, c := range []struct {
		of     store.Key
		status string
		has    bool
	}{
		{service, `{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}`, true},
		{ingress, `{"loadBalancer":{"ingress":[{"hostname":"web.example"}]}}`, true},
		{service, `{"loadBalancer":{}}`, false},
		{service, `{"loadBalancer":{"ingress":[{"ports":[]}]}}`, false},
		{ingress, `{"loadBalancer":"none"}`, false},
		{store.Key{Resource: "pods"}, `{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}`, false},
	} {
		if is := Judge(c.of, store.Report{Status: []byte(c.status)}); is.Addressed != c.has {
			t.Errorf("%s with %s has an address: %t", c.of.Resource, c.status, is.Addressed)
		}
	}
}

func TestWhatIsNotAvailableIsSaidAsItIs(t *testing.T) {
	for _, c := range []struct {
		p    Progress
		d    Demand
		want string
	}{
		{Progress{Available: 1}, Demand{Replicas: 3}, "not available yet (1 of 3)"},
		{Progress{Available: 1}, Demand{Replicas: 1}, "its update is not available yet; what it had before is (1 of 1)"},
		{Progress{}, Demand{}, "not available yet"},
		{Progress{Ready: true, Available: 1}, Demand{Replicas: 1}, ""},
	} {
		if got := c.p.Arrived(c.d); got != c.want {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
}

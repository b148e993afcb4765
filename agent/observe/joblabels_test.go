package observe

import (
	"maps"
	"testing"

	"skerry.dev/skerry/agent/inventory"
)

// A Pod of a placed Job has the UID that the Job has in the space, so that the Job selects it
// there; a label with any other value is the user's.
func TestPodsOfAJobHaveItsUID(t *testing.T) {
	job := inventory.Record{UID: "there", OriginUID: "here"}
	live := map[string]string{"app": "there", "controller-uid": "there", "batch.kubernetes.io/controller-uid": "there"}
	kept := maps.Clone(live)
	want := map[string]string{"app": "there", "controller-uid": "here", "batch.kubernetes.io/controller-uid": "here"}
	if got := ownLabels(live, job); !maps.Equal(got, want) || !maps.Equal(live, kept) {
		t.Errorf("labels %v, and those of the target %v", got, live)
	}
	users := map[string]string{"controller-uid": "mine"}
	if got := ownLabels(users, job); !maps.Equal(got, users) {
		t.Errorf("a user's label became %v", got)
	}
}

package agent

import (
	"strings"
	"testing"

	"skerry.dev/skerry/store"
)

// What a deletion has left without an owner goes with its Namespace. What lost its owner by somebody
// else's hand keeps the Namespace.
func TestDependentsThatWereKeptGoWithTheirNamespace(t *testing.T) {
	inBubble(t, dependentsThatWereKeptGoWithTheirNamespace)
}

func dependentsThatWereKeptGoWithTheirNamespace(t *testing.T) {
	for _, foreign := range []bool{false, true} {
		s := newSite(t)
		web := deployment(1, "app", "web", 1)
		s.desire(namespace("app"), web)
		s.settled()
		uid := s.uid("apps", "deployments", "app", "web")
		s.api.Put("apps/v1", "ReplicaSet", "app", "web-1", owned(uid))
		s.api.Put("v1", "Pod", "app", "web-2", owned(uid))
		s.api.Put("batch/v1", "Job", "app", "web-3", owned(uid))
		if foreign {
			s.api.Put("v1", "Pod", "app", "theirs", nil)
		}
		s.desire(removed(web, store.RemoveKeepDependents))
		s.settled()
		if o := s.api.Object("apps", "replicasets", "app", "web-1"); o == nil {
			t.Fatal("what the deployment owned is gone")
		}
		s.desire(gone(namespace("app")))
		if !foreign {
			eventually(t, "the namespace goes", func() bool { return !s.exists(namespace("app")) })
			continue
		}
		eventually(t, "the namespace is reported", func() bool {
			r := s.report(namespace("app").Key)
			return r != nil && r.Error != nil && r.Error.Reason == "NotEmpty" &&
				strings.Contains(r.Error.Message, "pods/theirs") && !strings.Contains(r.Error.Message, "web-")
		})
	}
}

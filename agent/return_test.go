package agent

import (
	"testing"
	"time"

	"skerry.dev/skerry/agent/targettest"
)

// From the moment that an object is to be deleted it is not said to be as desired: not while a
// finalizer keeps it, not when it is desired again meanwhile, and not after a restart. It is said
// again of the one that comes after it.
func TestWhatIsGoingIsNotSaidToBeThere(t *testing.T) {
	for name, crash := range map[string]bool{"runs on": false, "restarted": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newSite(t)
				c := configMap("default", "c", "1")
				s.desire(c)
				s.settled()
				<-s.observer.Ready()
				if r := s.report(c.Key); r == nil || r.Applied != c.Hash.String() {
					t.Fatalf("before: %+v", r)
				}
				uid := s.api.PutAs(
					"holder",
					"",
					"v1",
					"ConfigMap",
					"default",
					"c",
					map[string]any{"metadata": map[string]any{"finalizers": []any{"example.com/hold"}}},
				)
				s.desire(gone(c))
				eventually(t, "it is going", func() bool {
					return metadata(s.api.Object("", "configmaps", "default", "c"))["deletionTimestamp"] != nil
				})
				if r := s.report(c.Key); r == nil || r.Applied != "" {
					t.Errorf("while it goes: %+v", r)
				}
				s.desire(c)
				if crash {
					s.restart(true)
					<-s.observer.Ready()
				}
				for began := time.Now(); time.Since(began) < 300*time.Millisecond; time.Sleep(time.Millisecond) {
					if r := s.report(c.Key); r == nil || r.Applied != "" {
						t.Fatalf("while the one before it goes: %+v", r)
					}
				}
				s.api.Remove("", "configmaps", "default", "c")
				eventually(t, "it is back", func() bool {
					o := s.api.Object("", "configmaps", "default", "c")
					r := s.report(c.Key)
					return o != nil && metadata(o)["uid"] != uid && r != nil && r.Applied == c.Hash.String()
				})
				s.settled()
				s.healthy(c)
			})
		})
	}
}

// What the target refuses to delete is said to be there again when it is desired again.
func TestARefusedDeletionIsTakenBack(t *testing.T) { inBubble(t, aRefusedDeletionIsTakenBack) }

func aRefusedDeletionIsTakenBack(t *testing.T) {
	s := newSite(t)
	c := configMap("default", "c", "1")
	s.desire(c)
	s.settled()
	<-s.observer.Ready()
	changes := s.api.Changes()
	s.api.Refuse(func(method, plural, _ string) *targettest.Refusal {
		if method == "DELETE" && plural == "configmaps" {
			return &targettest.Refusal{Code: 403, Reason: "Forbidden", Message: "not you"}
		}
		return nil
	})
	s.desire(gone(c))
	eventually(t, "it is refused", func() bool {
		r := s.report(c.Key)
		return r != nil && r.Error != nil && r.Error.Reason == "Forbidden" && r.Applied == ""
	})
	s.desire(c)
	eventually(t, "it is as desired", func() bool {
		r := s.report(c.Key)
		return r != nil && r.Error == nil && r.Applied == c.Hash.String()
	})
	if n := s.api.Changes() - changes; n != 0 {
		t.Errorf("%d changes of what was never deleted", n)
	}
}

// A Job that has run to its end is done, also while it is being deleted on the target, and after
// that.
func TestADoneJobStaysDoneWhileItGoes(t *testing.T) { inBubble(t, aDoneJobStaysDoneWhileItGoes) }

func aDoneJobStaysDoneWhileItGoes(t *testing.T) {
	s := newSite(t)
	j := job("j", nil)
	s.desire(j)
	s.settled()
	<-s.observer.Ready()
	s.api.SetStatus("batch", "jobs", "default", "j", ended("Complete"))
	uid := metadata(s.api.Object("batch", "jobs", "default", "j"))["uid"]
	s.api.PutAs("gc", "", "batch/v1", "Job", "default", "j", map[string]any{"metadata": map[string]any{
		"finalizers": []any{"foregroundDeletion"}, "deletionTimestamp": "2026-11-22T10:00:00Z"}})
	eventually(t, "it is seen to go", func() bool {
		r, _ := s.inventory.Get(j.Key)
		return r.Finished
	})
	done := func(when string) {
		t.Helper()
		s.settled()
		if r := s.report(j.Key); r == nil || r.Applied != j.Hash.String() || r.Error != nil {
			t.Errorf("%s: %+v", when, r)
		}
	}
	done("while it goes")
	s.api.Remove("batch", "jobs", "default", "j")
	eventually(t, "it is gone", func() bool {
		r, _ := s.inventory.Get(j.Key)
		return r.UID != uid
	})
	done("when it is gone")
}

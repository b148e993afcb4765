package agent

import (
	"encoding/json"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// moverOf is a Deployment that copies the claim data-db-0 of the StatefulSet db.
func moverOf(t *testing.T, makes bool, until string) store.Entry {
	return moverNamed(t, "mover", makes, until)
}

func moverNamed(t *testing.T, name string, makes bool, until string) store.Entry {
	text, err := json.Marshal(store.MoverClaim{Name: "data-db-0", Set: "db", Labels: map[string]string{"app": "db"},
		Spec: json.RawMessage(`{"accessModes":["ReadWriteOnce"]}`), Make: makes, Of: 1})
	if err != nil {
		t.Fatal(err)
	}
	e := live("apps", "deployments", "apps/v1", "Deployment", "app", name, nil)
	var o map[string]any
	if err := json.Unmarshal(e.Body, &o); err != nil {
		t.Fatal(err)
	}
	notes := metadata(o)["annotations"].(map[string]any)
	notes[store.AnnotationMoverClaim], notes[target.AnnotationKeepUntil] = string(text), until
	if e.Body, err = json.Marshal(o); err != nil {
		t.Fatal(err)
	}
	e.Hash = store.HashBody(e.Generation, e.Body)
	return e
}

func (s *site) hasClaim() bool {
	return s.api.Object("", "persistentvolumeclaims", "app", "data-db-0") != nil
}

func (s *site) lacksMover() bool { return s.api.Object("apps", "deployments", "app", "mover") == nil }

// A claim comes with the Deployment that copies into it, before its StatefulSet, and stays when that has come.
func TestAClaimComesBeforeItsStatefulSet(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newSite(t)
		mover := moverOf(t, true, "")
		s.desire(namespace("app"), mover)
		s.settled()
		if !s.hasClaim() || s.mark() == nil {
			t.Fatalf("it is not there, or not marked: %v", s.mark())
		}
		s.desire(setIn("app"))
		s.settled()
		s.desire(gone(mover))
		eventually(t, "the Deployment is gone", s.lacksMover)
		s.settled()
		if !s.hasClaim() {
			t.Error("the claim of a StatefulSet that is there is gone")
		}
	})
}

// Through a relay the StatefulSet may come after the word that the Deployment which has copied its claim is over.
func TestAClaimStaysForAStatefulSetThatIsLate(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newSite(t)
		mover := moverOf(t, true, "")
		s.desire(namespace("app"), mover)
		s.settled()
		s.desire(gone(mover))
		eventually(t, "the Deployment is gone", s.lacksMover)
		s.settled()
		if !s.hasClaim() {
			t.Fatal("the claim is gone with what was copied into it")
		}
		mover = moverOf(t, true, "2026-11-29T12:00:00Z")
		s.desire(mover)
		s.settled()
		s.desire(gone(mover))
		eventually(t, "it is gone with one that has given it up", func() bool { return !s.hasClaim() })
	})
}

// Where its StatefulSet is not to be, the claim goes with the Deployment, and an unmarked one is left alone.
func TestAClaimGoesWithTheLastThatNeedsIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, _ := keptClaim(t)
		mover := moverOf(t, false, "")
		s.desire(mover)
		s.settled()
		s.desire(gone(setIn("app")))
		eventually(t, "it stays without its StatefulSet", func() bool { return s.mark() != nil })
		s.settled()
		if !s.hasClaim() {
			t.Fatal("it went with its StatefulSet")
		}
		s.desire(gone(mover))
		eventually(t, "the first mover is gone", s.lacksMover)
		s.settled()
		if !s.hasClaim() {
			t.Fatal("it went with who copies it")
		}
		mover = moverOf(t, false, "2026-11-29T12:00:00Z")
		s.desire(mover)
		s.settled()
		s.desire(gone(mover))
		eventually(t, "it is gone", func() bool { return !s.hasClaim() })

		standby := moverNamed(t, "standby", false, "")
		s.api.Put("v1", "PersistentVolumeClaim", "app", "data-db-0", map[string]any{"metadata": map[string]any{
			"annotations": map[string]any{target.AnnotationClaimOf: "u-app"}}})
		s.desire(mover, standby)
		s.settled()
		s.desire(gone(mover))
		eventually(t, "one of two movers is gone", s.lacksMover)
		s.settled()
		if !s.hasClaim() {
			t.Fatal("it went while another mover copies into it")
		}
		s.desire(gone(standby))
		s.settled()
		s.api.Remove("", "persistentvolumeclaims", "app", "data-db-0")

		foreign := labelled(map[string]any{"app": "db"})
		s.api.Put("v1", "PersistentVolumeClaim", "app", "data-db-0", foreign)
		s.desire(mover)
		s.settled()
		s.desire(gone(mover))
		eventually(t, "the Deployment is gone", s.lacksMover)
		s.settled()
		if !s.hasClaim() {
			t.Error("a claim that is not of the space is deleted")
		}
	})
}

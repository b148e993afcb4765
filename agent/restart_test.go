package agent

import (
	"fmt"
	"os"
	"testing"
	"time"

	"skerry.dev/skerry/store"
)

func TestRestartWritesNothing(t *testing.T) {
	for _, crash := range []bool{false, true} {
		t.Run(fmt.Sprint("crash ", crash), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newSite(t)
				all := []store.Entry{
					namespace("app"),
					crd("widgets", "Widget"),
					live("example.com", "widgets", "example.com/v1", "Widget", "app", "w", nil),
				}
				for i := range 30 {
					all = append(
						all,
						configMap("app", fmt.Sprint("c", i), "1"),
						deployment(1, "app", fmt.Sprint("d", i), 2),
					)
				}
				s.desire(all...)
				s.settled()
				before, reported := len(s.api.Writes()), s.observer.Feed().Root()
				for range 3 {
					s.restart(crash)
					<-s.applier.Compared()
					<-s.observer.Ready()
					s.settled()
					if got := s.observer.Feed().Root(); got != reported {
						t.Error("reports differ after a restart")
					}
				}
				if after := len(s.api.Writes()); after != before {
					t.Errorf("%d writes after restarts: %v", after-before, s.api.Writes()[before:])
				}
				for _, e := range all {
					if !s.exists(e) {
						t.Errorf("%s is gone", e.Key)
					}
				}
			})
		})
	}
}

// A crash between a write to the target and the record of it: the object is recognized by its
// origin.
func TestCrashBeforeTheRecord(t *testing.T) { inBubble(t, crashBeforeTheRecord) }

func crashBeforeTheRecord(t *testing.T) {
	s := newSite(t)
	s.desire(namespace("app"))
	s.settled()
	s.desire(configMap("app", "c", "1"))
	eventually(t, "it is on the target", func() bool { return s.exists(configMap("app", "c", "1")) })
	s.settled()
	s.inventory.Delete(configMap("app", "c", "1").Key)
	if err := s.inventory.Flush(); err != nil {
		t.Fatal(err)
	}
	changes := s.api.Changes()
	s.restart(true)
	<-s.applier.Compared()
	s.settled()
	if n := s.api.Changes(); n != changes {
		t.Errorf("the object was changed %d times by a restart", n-changes)
	}
	s.desire(gone(configMap("app", "c", "1")))
	s.settled()
	if s.exists(configMap("app", "c", "1")) {
		t.Error("a recognized object was not deleted by its tombstone")
	}
}

func TestWhatWasDesiredWhileDownIsAppliedAtTheStart(t *testing.T) {
	inBubble(t, whatWasDesiredWhileDownIsAppliedAtTheStart)
}

func whatWasDesiredWhileDownIsAppliedAtTheStart(t *testing.T) {
	s := newSite(t)
	s.desire(configMap("default", "a", "1"), configMap("default", "b", "1"))
	s.settled()
	s.api.CutWatches()
	s.stop()
	s.api.Remove("", "configmaps", "default", "b") // by another hand
	s.start(s.DataDir)
	eventually(
		t,
		"the object that vanished meanwhile is back",
		func() bool { return s.exists(configMap("default", "b", "1")) },
	)
	s.settled()
	if n := s.writesTo("a"); n != 1 {
		t.Errorf("%d writes to an object that nothing happened to", n)
	}
}

// contest has the ConfigMap "c" desired and deleted on the target again and again, with something
// else done each time, and tells when it is written in a loop.
func (s *site) contest(c store.Entry, each func()) {
	s.t.Helper()
	s.desire(c)
	s.settled()
	remove := func() { s.api.Remove("", "configmaps", "default", "c") }
	eventually(s.t, "it is watched", func() bool { remove(); return s.writesTo("c") >= 2 })
	before, began, removed := s.writesTo("c"), time.Now(), 0
	for time.Since(began) < 400*time.Millisecond || removed < 100 {
		remove()
		each()
		removed++
		time.Sleep(time.Millisecond)
	}
	// The waits double, so that even a machine that takes ten times as long sees few.
	if n, took := s.writesTo("c")-before, time.Since(began); n > 3+int(took/(400*time.Millisecond)) {
		s.t.Errorf("%d writes in %s against somebody who keeps deleting", n, took)
	}
}

func TestVanishedObjectIsWrittenAgainButNotInALoop(t *testing.T) {
	inBubble(t, vanishedObjectIsWrittenAgainButNotInALoop)
}

func vanishedObjectIsWrittenAgainButNotInALoop(t *testing.T) {
	s := newSite(t)
	c := configMap("default", "c", "1")
	s.contest(c, func() {})
	eventually(t, "it is told", func() bool {
		s.api.Remove("", "configmaps", "default", "c")
		r := s.report(c.Key)
		return r != nil && r.Error != nil && r.Error.Reason == "Contested"
	})
	eventually(
		t,
		"it stays when it is left in peace",
		func() bool { r := s.report(c.Key); return r.Error == nil && s.exists(c) },
	)
}

// Whatever wakes a key that waits, an object that somebody keeps deleting is not written in a loop.
func TestVanishedObjectIsNotWrittenInALoopByWhatWakesIt(t *testing.T) {
	inBubble(t, vanishedObjectIsNotWrittenInALoopByWhatWakesIt)
}

func vanishedObjectIsNotWrittenInALoopByWhatWakesIt(t *testing.T) {
	s := newSite(t)
	s.contest(configMap("default", "c", "1"), s.applier.Retry)
	next := configMap("default", "c", "2")
	s.desire(next)
	eventually(
		t,
		"another version is written at once",
		func() bool { return s.exists(next) && s.data("c")["value"] == "2" },
	)
}

func TestObjectThatGoesWhileItsKindIsListedIsWrittenAgain(t *testing.T) {
	inBubble(t, objectThatGoesWhileItsKindIsListedIsWrittenAgain)
}

func objectThatGoesWhileItsKindIsListedIsWrittenAgain(t *testing.T) {
	s := newSite(t)
	s.api.Pause(true)
	s.desire(configMap("default", "first", "1"))
	waited := func(n int) func() bool { return func() bool { return s.api.Waited("/api/v1/configmaps") == n } }
	eventually(t, "it is asked where the kind is", waited(1))
	s.api.Pass("/api/v1/configmaps")
	eventually(t, "the kind is being listed", waited(2))
	c := configMap("default", "c", "1")
	s.desire(c)
	s.settled()
	s.api.Remove("", "configmaps", "default", "c")
	s.api.Pause(false)
	eventually(t, "it is written again", func() bool { return s.exists(c) })
}

func TestIdleAgentDoesNotWrite(t *testing.T) { inBubble(t, idleAgentDoesNotWrite) }

func idleAgentDoesNotWrite(t *testing.T) {
	s := newSite(t)
	s.desire(namespace("app"), configMap("app", "c", "1"), deployment(1, "app", "d", 1))
	s.settled()
	<-s.observer.Ready()
	time.Sleep(100 * time.Millisecond) // time for what would be written behind
	written := func() time.Time {
		info, err := os.Stat(s.file.Path())
		if err != nil {
			t.Fatal(err)
		}
		return info.ModTime()
	}
	before := written()
	time.Sleep(300 * time.Millisecond)
	if after := written(); after != before {
		t.Errorf("the file was written while idle: %v, then %v", before, after)
	}
}

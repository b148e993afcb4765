package summary

import (
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
)

// Reports of an object that is on many targets gather for as long as reading them costs, others are read at once.
func TestPacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pacing
		many, few := store.Key{Space: "a", Resource: "configmaps", Name: "many"}, store.Key{Space: "a", Resource: "configmaps", Name: "few"}
		p.read(few, fewTargets, time.Minute)
		p.read(many, fewTargets+1, 10*time.Millisecond)
		if d := p.wait(few, fewTargets); d != 0 {
			t.Errorf("an object on few targets waits for %s", d)
		}
		if d := p.wait(many, 100); d != rests*10*time.Millisecond {
			t.Errorf("an object on many targets waits for %s", d)
		}
		time.Sleep(rests * 10 * time.Millisecond)
		if d := p.wait(many, 100); d != 0 || len(p.until) > 0 {
			t.Errorf("after its rest it waits for %s, %d are remembered", d, len(p.until))
		}
		p.read(many, 10_000, time.Minute)
		if d := p.wait(many, 100); d != longestRest {
			t.Errorf("it waits for %s", d)
		}
		if d := p.wait(many, fewTargets); d != 0 {
			t.Errorf("on few targets now, it waits for %s", d)
		}
		p.read(many, 10_000, time.Minute)
		if p.forget(many); p.wait(many, 100) != 0 {
			t.Error("an object that is gone is remembered")
		}
	})
}

package summary

import (
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
)

// Reports of an object that is on many targets gather for as long as reading them costs, others are
// read at once.
func TestPacing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pacing
		many, few := store.Key{
			Space:    "a",
			Resource: "configmaps",
			Name:     "many",
		}, store.Key{
			Space:    "a",
			Resource: "configmaps",
			Name:     "few",
		}
		if d := p.wait(few, fewTargets); d != 0 || p.gathering(few) {
			t.Errorf("an object on few targets waits for %s", d)
		}
		first := p.wait(many, 100)
		if first != gathers*100*guessed || !p.gathering(many) || p.gathering(few) {
			t.Errorf("an object on many targets waits for %s", first)
		}
		time.Sleep(first / 2)
		if d := p.wait(many, 100); d != first/2 {
			t.Errorf("after half of its time it waits for %s", d)
		}
		time.Sleep(first / 2)
		if p.gathering(many) {
			t.Error("what comes now might not be read")
		}
		if d := p.wait(many, 100); d != 0 || len(p.until) > 0 {
			t.Errorf("after its time it waits for %s, %d are remembered", d, len(p.until))
		}
		for range 100 {
			p.read(fewTargets, time.Minute)
			p.read(100, 100*time.Millisecond)
		}
		if d := p.wait(many, 50); d < gathers*49*time.Millisecond || d > gathers*50*time.Millisecond {
			t.Errorf("reading one takes 1 ms; it waits for %s", d)
		}
		if d := p.wait(many, fewTargets); d != 0 || len(p.until) > 0 {
			t.Errorf("on few targets now, it waits for %s", d)
		}
		if d := p.wait(many, 10_000); d != longest {
			t.Errorf("it waits for %s", d)
		}
		if p.forget(many); p.gathering(many) || len(p.until) > 0 {
			t.Error("an object that is gone is remembered")
		}
	})
}

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
		many, few := key("", "configmaps", "many"), key("", "configmaps", "few")
		if d := p.wait(few, fewTargets); d != 0 || p.gathering(few) {
			t.Errorf("an object on few targets waits for %s", d)
		}
		first := p.wait(many, 100)
		if first != gathers*100*guessed || !p.gathering(many) || p.gathering(few) {
			t.Errorf("an object on many targets waits for %s", first)
		}
		if d, another := p.wait(key("", "configmaps", "other"), 100), 2*first; d != another {
			t.Errorf("beside it another one waits for %s, want %s", d, another)
		}
		p.forget(key("", "configmaps", "other"))
		time.Sleep(first / 2)
		if d := p.wait(many, 100); d != first/2 {
			t.Errorf("after half of its time it waits for %s", d)
		}
		time.Sleep(first / 2)
		if p.gathering(many) {
			t.Error("what comes now might not be read")
		}
		if d := p.wait(many, 100); d != 0 || len(p.turns) > 0 || p.many != 0 {
			t.Errorf("after its time it waits for %s, %d are remembered, %d of them", d, len(p.turns), p.many)
		}
		for range 100 {
			p.took(fewTargets, time.Minute)
			p.took(100, 100*time.Millisecond)
		}
		if d := p.wait(many, 50); d < gathers*49*time.Millisecond || d > gathers*50*time.Millisecond {
			t.Errorf("reading one takes 1 ms; it waits for %s", d)
		}
		if d := p.wait(many, fewTargets); d != 0 || len(p.turns) > 0 || p.many != 0 {
			t.Errorf("on few targets now, it waits for %s", d)
		}
		if d := p.wait(many, 10_000); d != longest {
			t.Errorf("it waits for %s", d)
		}
		if p.forget(many); p.gathering(many) || len(p.turns) > 0 || p.many != 0 {
			t.Error("an object that is gone is remembered")
		}
	})
}

// A status that changes after a quiet time is written at once, and so are the next ones. From then on
// there is one in each pause.
func TestPauseBetweenStatuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pacing
		busy, lone := key("apps", "deployments", "busy"), key("apps", "deployments", "lone")
		began, written := time.Now(), 0
		for time.Since(began) < time.Minute {
			if p.wait(busy, 1) == 0 {
				p.wrote(busy)
				written++
			}
			time.Sleep(pause / 20)
		}
		if want := burst - 1 + int(time.Minute/pause); written < want || written > want+1 {
			t.Errorf("%d statuses are written in a minute, want %d", written, want)
		}
		if d := p.wait(lone, 1); d != 0 {
			t.Errorf("another object waits for %s", d)
		}
		p.wrote(lone)
		if d := p.wait(lone, 1); d != 0 {
			t.Errorf("its second status waits for %s", d)
		}
		time.Sleep(burst * pause)
		p.wait(busy, 1) // ends its gathering
		for i := range burst {
			if d := p.wait(busy, 1); d != 0 {
				t.Errorf("after a quiet time, the status number %d waits for %s", i, d)
			}
			p.wrote(busy)
		}
		if d := p.wait(busy, 1); d != pause || !p.gathering(busy) {
			t.Errorf("the next one waits for %s, want %s", d, pause)
		}
		if d := p.wait(busy, 100); d != pause {
			t.Errorf("on many targets it waits for %s, want %s", d, pause)
		}
		if p.sweep(); len(p.spent) != 1 {
			t.Errorf("%d pauses are known, want the one that lasts", len(p.spent))
		}
		time.Sleep(burst * pause)
		if p.sweep(); len(p.spent) > 0 {
			t.Error("a pause that is over is remembered")
		}
	})
}

// A status that changes without end costs one write in each pause, and the last value is shown.
func TestStatusesArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		defer c.stop()
		c.place(web, "apps/v1", "Deployment", "a")
		const changes, every = 600, pause / 10
		for i := range changes {
			c.says("a", web, &store.Report{OriginUID: "uid-web", Generation: 1, Status: status(
				`{"observedGeneration":1,"replicas":%d,"availableReplicas":%[1]d}`, i)})
			synctest.Wait()
			if i < burst && c.status(web)["replicas"] != float64(i) {
				t.Errorf("change %d after a quiet time is not shown at once: %v", i, c.status(web))
			}
			time.Sleep(every)
		}
		time.Sleep(pause)
		synctest.Wait()
		if is := c.status(web)["replicas"]; is != float64(changes-1) {
			t.Errorf("%v replicas are shown, want the last", is)
		}
		if n, most := c.count(), burst+int(changes*every/pause)+1; n > most || n < most/2 {
			t.Errorf("%d changes are %d writes, want at most %d", changes, n, most)
		}
	})
}

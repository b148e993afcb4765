package agent

import (
	"fmt"
	"math/rand/v2"
	"path"
	"testing"
	"time"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
)

// walker does random things to a site and knows what must come of them.
type walker struct {
	*site
	random  *rand.Rand
	desired map[string]int // version of each name, 0 for none
	version int
	budget  map[string]int // changes that the agent may make to each name
	deletes map[string]int
	log     []string
}

func (w *walker) entry(name string, version int) store.Entry {
	if name[0] == 'd' {
		return deployment(int64(version), "default", name, version)
	}
	return configMap("default", name, fmt.Sprint(version))
}

func (w *walker) place(name string) (group, plural string) {
	k := w.entry(name, 1).Key
	return k.Group, k.Resource
}

// step does one thing.
func (w *walker) step() {
	name := fmt.Sprint([]string{"c", "d"}[w.random.IntN(2)], w.random.IntN(4))
	group, plural := w.place(name)
	what := ""
	switch w.random.IntN(12) {
	case 0, 1, 2, 3:
		what = "deliver " + name
		w.version++
		w.desired[name] = w.version
		w.budget[name]++
		w.desire(w.entry(name, w.version))
	case 4:
		what = "delete " + name
		if w.desired[name] != 0 {
			w.deletes[name]++
		}
		w.desired[name] = 0
		w.desire(gone(w.entry(name, 1)))
	case 5, 6:
		what = "drift " + name
		value := map[string]any{"data": map[string]any{"value": "drifted"}}
		if name[0] == 'd' {
			value = map[string]any{"spec": map[string]any{"replicas": 999}}
		}
		if w.api.Edit("somebody", group, plural, "default", name, value) {
			w.budget[name]++
		}
	case 7:
		what = "add to " + name
		w.api.Edit(
			"somebody",
			group,
			plural,
			"default",
			name,
			map[string]any{"metadata": map[string]any{"labels": map[string]any{"theirs": "x"}}},
		)
	case 8:
		what = "remove " + name
		w.budget[name]++
		w.api.Remove(group, plural, "default", name)
	case 9:
		what = "cut"
		w.api.CutWatches()
	case 10:
		crash := w.random.IntN(2) == 0
		what = fmt.Sprint("restart, crash ", crash)
		w.restart(crash)
	case 11:
		what = "target down for a moment"
		w.api.Down(true)
		time.Sleep(time.Duration(w.random.IntN(5)) * time.Millisecond)
		w.api.Down(false)
	}
	w.log = append(w.log, what)
	if w.random.IntN(3) == 0 {
		time.Sleep(time.Duration(w.random.IntN(20)) * time.Millisecond)
	}
}

// right reports whether the target has what is desired.
func (w *walker) right(name string, version int) bool {
	group, plural := w.place(name)
	o := w.api.Object(group, plural, "default", name)
	if o == nil || version == 0 {
		return o == nil && version == 0
	}
	if name[0] == 'd' {
		return o["spec"].(map[string]any)["replicas"] == float64(version)
	}
	return o["data"].(map[string]any)["value"] == fmt.Sprint(version)
}

// record is what the agent has noted of a name.
func (w *walker) record(name string) inventory.Record {
	r, _ := w.inventory.Get(w.entry(name, 1).Key)
	return r
}

// lastWrites are the newest writes to a name, each with what was sent and what it was overtaken by.
func (w *walker) lastWrites(name string) (last []targettest.Write) {
	for _, write := range w.api.Writes() {
		if path.Base(write.Path) == name {
			last = append(last, write)
		}
	}
	return last[max(0, len(last)-4):]
}

func (w *walker) changes() (applied, deleted map[string]int) {
	applied, deleted = map[string]int{}, map[string]int{}
	for _, write := range w.api.Writes() {
		name := write.Path[len(write.Path)-2:]
		switch {
		case write.Changed && write.Method == "DELETE":
			deleted[name]++
		case write.Changed:
			applied[name]++
		}
	}
	return applied, deleted
}

// Whatever happens in whatever order: the target ends as desired, each version of an object is
// written at most once and once more for each time that somebody interferes, each tombstone deletes
// at most once, and a restart after that writes nothing.
func TestWalk(t *testing.T) {
	for seed := range uint64(24) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := &walker{
				site: newSite(
					t,
				), random: rand.New(rand.NewPCG(seed, 1)), desired: map[string]int{},
				budget: map[string]int{}, deletes: map[string]int{},
			}
			for range 40 {
				w.step()
			}
			for name, version := range w.desired {
				for end := time.Now().Add(2 * time.Minute); !w.right(name, version); time.Sleep(5 * time.Millisecond) {
					if time.Now().After(end) {
						group, plural := w.place(name)
						t.Fatalf(
							"%s is not at %d but %v after %q; report %s; record %+v; last writes %+v",
							name,
							version,
							w.api.Object(group, plural, "default", name),
							w.log,
							dump(w.report(w.entry(name, 1).Key)),
							w.record(name),
							w.lastWrites(name),
						)
					}
				}
			}
			w.settled()
			applied, deleted := w.changes()
			for name := range w.budget {
				if applied[name] > w.budget[name] || deleted[name] > w.deletes[name] {
					t.Errorf(
						"%s was changed %d times and deleted %d times, at most %d and %d: %q",
						name,
						applied[name],
						deleted[name],
						w.budget[name],
						w.deletes[name],
						w.log,
					)
				}
			}
			before := w.api.Changes()
			w.restart(true)
			<-w.observer.Ready()
			w.settled()
			if n := w.api.Changes(); n != before {
				for name := range w.desired {
					t.Logf("last writes to %s: %+v", name, w.lastWrites(name))
				}
				t.Errorf("%d changes by a restart after %q", n-before, w.log)
			}
		})
	}
}

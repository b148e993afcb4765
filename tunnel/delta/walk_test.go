package delta_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/pipe"
)

// step is one thing that happens to a center, its site or the link between them.
type step struct {
	What string
	Key  int
	Wait time.Duration
	// CutAfter cuts a link that this step heals after so many bytes; 0 is never.
	CutAfter int
}

func anyStep() *rapid.Generator[step] {
	return rapid.Custom(func(t *rapid.T) step {
		return step{
			What: rapid.SampledFrom(
				[]string{
					"place",
					"place",
					"place",
					"place",
					"delete",
					"delete",
					"cut",
					"heal",
					"heal",
					"kill site",
					"kill center",
					"backup",
					"restore",
					"wipe",
					"accept",
				},
			).Draw(
				t,
				"what",
			),
			Key: rapid.IntRange(0, 7).Draw(t, "key"),
			Wait: time.Duration(
				rapid.SampledFrom([]int{0, 1, 20, 3000, 100_000}).Draw(t, "wait"),
			) * time.Millisecond,
			CutAfter: rapid.OneOf(rapid.Just(0), rapid.IntRange(1, 1500)).Draw(t, "cut after"),
		}
	})
}

// past is what has ever happened to a center's data: of each key its versions in order, 0 for a
// deletion. Versions are never used twice, also not by centers that were made of the same backup.
type past map[int][]int

// follows reports whether somebody at this center made then of now; 0 is no object. What nobody
// ever did here is no reason to change anything.
func (p past) follows(i, then, now int) bool {
	all := p[i]
	from := slices.Index(all, then)
	switch {
	case then == 0:
		return slices.Contains(all, now)
	case from < 0:
		return false
	default:
		return slices.Contains(all[from+1:], now)
	}
}

// data is all that a center, or a backup of it, has.
type data struct {
	line     lineage
	past     past
	live     map[int]int
	revision int64
}

func (d data) copy() data {
	d.past, d.live = maps.Clone(d.past), maps.Clone(d.live) // the slices only grow
	for i, all := range d.past {
		d.past[i] = slices.Clip(all)
	}
	return d
}

// walker is a center, a site and what must be true of them.
type walker struct {
	data
	mu       sync.Mutex // guards what follows, and data, while a session may commit
	src      *source
	backups  []data
	versions map[store.Hash]int
	version  int

	sink     *storetest.Memory
	have     map[int]int // what the site has, as of its last commit
	link     *session
	held     atomic.Pointer[delta.Held]
	lost     bool      // the center's data went back, or is another, since the site had all of it
	accepted store.Era // of the center that the admin has accepted for what the site has now
	wrong    string
}

func (w *walker) fail(format string, args ...any) {
	if w.wrong == "" {
		w.wrong = fmt.Sprintf(format, args...)
	}
}

// begin starts the center on its data.
func (w *walker) begin() {
	objects := map[store.Key]string{}
	for i, v := range w.live {
		objects[key(i)] = body(i, v)
	}
	w.src, w.line = w.line.run(w.revision, objects)
	w.src.revision = w.revision
}

func (w *walker) set(i, version int) {
	text := ""
	w.mu.Lock()
	if version != 0 {
		text = body(i, version)
		w.versions[store.HashBody(1, []byte(text))] = version
	}
	w.past[i] = append(w.past[i], version)
	if w.live[i] = version; version == 0 {
		delete(w.live, i)
	}
	w.mu.Unlock()
	w.src.set(map[store.Key]string{key(i): text})
	w.revision = w.src.revision
}

// committed looks at each thing that becomes of what the site has: somebody must have done it at
// the center that the site follows, or an admin have accepted that center.
func (w *walker) committed(store.Batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := map[int]int{}
	for i := range 8 {
		if e, ok, _ := w.sink.Get(key(i)); ok && !e.Tombstone {
			now[i] = w.versions[e.Hash]
		}
		accepted := w.accepted != 0 && w.knows(w.accepted)
		if v := now[i]; v != w.have[i] && !w.past.follows(i, w.have[i], v) && !accepted {
			w.fail("key %d went from version %d to %d, but at the center it was %v", i, w.have[i], v, w.past[i])
		}
	}
	w.have = now
}

// knows reports whether a run of the center is one that its data remembers.
func (w *walker) knows(era store.Era) bool {
	return slices.ContainsFunc(w.line.eras, func(e store.EraStart) bool { return e.Era == era })
}

// reached reports whether the center's data was ever at a position: in that run, and before the next
// one began. Revisions after a restore are as high as lost ones, and may even have the same objects.
func (w *walker) reached(at store.Position) bool {
	i := slices.IndexFunc(w.line.eras, func(e store.EraStart) bool { return e.Era == at.Era })
	return i >= 0 && (i == len(w.line.eras)-1 || at.Revision <= w.line.eras[i+1].From)
}

// connect makes a session when there is none.
func (w *walker) connect(t *testing.T, cutAfter int) {
	if w.link != nil {
		return
	}
	o := delta.Down(delta.LAN)
	o.OnHeld = func(h delta.Held) { w.held.Store(&h) }
	w.link = connect(t, w.src.Feed, w.sink, o, pipe.Options{Latency: time.Millisecond, CutAfter: cutAfter})
}

func (w *walker) cut() {
	if w.link != nil {
		w.link.end()
		w.link = nil
		w.held.Store(nil) // what was said in this session is over with it
	}
}

// over reports whether the session has ended by itself.
func (w *walker) over() bool {
	select {
	case err := <-w.link.got:
		w.link.got <- err
		return true
	default:
		return false
	}
}

// equal reports whether the site has all that the center has. Its position may still name an
// earlier run of the center.
func (w *walker) equal() bool {
	at, head := w.sink.Position(), w.src.Head()
	return at.Incarnation == head.Incarnation && at.Revision == head.Revision && maps.Equal(w.have, w.live)
}

// accept is an admin's word for what he was shown.
func (w *walker) accept(t *testing.T) {
	h := w.held.Load()
	if h == nil || h.At != w.sink.Position() {
		return
	}
	w.cut()
	if err := w.sink.Accept(h.Head); err != nil {
		t.Fatal(err)
	}
	w.accepted = h.Head.Era
	w.connect(t, 0)
}

func (w *walker) step(t *testing.T, s step) {
	synctest.Wait() // nobody else is about to look at what this changes
	up := w.link != nil
	switch s.What {
	case "place":
		w.version++
		w.set(s.Key, w.version)
	case "delete":
		if w.live[s.Key] != 0 {
			w.set(s.Key, 0)
		}
	case "cut":
		w.cut()
	case "heal":
		w.connect(t, s.CutAfter)
	case "kill site":
		if w.cut(); up {
			w.connect(t, 0)
		}
	case "backup":
		w.backups = append(w.backups, w.data.copy())
	case "kill center", "restore", "wipe":
		w.cut()
		switch {
		case s.What == "wipe":
			w.data = data{
				line:     lineage{incarnation: store.NewIncarnation()},
				past:     past{},
				live:     map[int]int{},
				revision: 1,
			}
			w.lost = true
		case s.What == "restore" && len(w.backups) > 0:
			w.data = w.backups[s.Key%len(w.backups)].copy()
			w.lost = true
		}
		if w.begin(); up {
			w.connect(t, 0)
		}
	case "accept":
		w.accept(t)
	}
	time.Sleep(s.Wait)
	synctest.Wait()
	w.mu.Lock()
	if h := w.held.Load(); h != nil && !w.lost {
		w.fail("held although nothing was lost: %+v", *h)
	}
	w.mu.Unlock()
	if w.link != nil && w.over() {
		w.cut()
		w.connect(t, 0)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.equal() && w.reached(w.sink.Position()) {
		w.lost, w.accepted = false, 0
	}
}

// arrive heals the link and accepts what is held, once: then the site has what the center has.
func (w *walker) arrive(t *testing.T) {
	w.cut()
	for range 4 {
		w.connect(t, 0)
		time.Sleep(2 * time.Minute)
		if synctest.Wait(); w.over() {
			w.cut()
		} else {
			w.accept(t)
		}
	}
	w.cut()
	if !w.equal() {
		w.fail("at the end the site has %v at %s, the center %v at %s", w.have, w.sink.Position(), w.live, w.src.Head())
	}
}

// Whatever happens in whatever order to a center, its backups, a site and their link: what the site
// has changes only as somebody did it at the center, or as an admin accepted; it never waits for an
// admin unless data was lost; and in the end it has what the center has.
func TestAnyHistoryEndsEqual(t *testing.T) {
	for range 8 { // rapid's own number of walks each: some mistakes take several hundred to be found
		t.Run("walks", func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				plan := rapid.SliceOfN(anyStep(), 1, 60).Draw(rt, "plan")
				if wrong := walk(t, plan); wrong != "" {
					rt.Fatal(wrong)
				}
			})
		})
	}
}

func walk(t *testing.T, plan []step) (wrong string) {
	synctest.Test(t, func(t *testing.T) {
		w := &walker{
			data: data{
				line:     lineage{incarnation: store.NewIncarnation()},
				past:     past{},
				live:     map[int]int{},
				revision: 10,
			},
			sink:     storetest.NewMemory(),
			versions: map[store.Hash]int{},
			have:     map[int]int{},
		}
		w.sink.OnCommit = w.committed
		w.begin()
		w.connect(t, 0)
		for _, s := range plan {
			w.step(t, s)
		}
		w.arrive(t)
		wrong = w.wrong
	})
	return wrong
}

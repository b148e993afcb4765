package deletionguard

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/store/compress"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel"
)

func TestMain(m *testing.M) {
	compress.Default() // outside of every synctest bubble
	m.Run()
}

// site is a guard over a file, with what it said and released.
type site struct {
	*Guard
	t        *testing.T
	path     string
	file     *bolt.File
	share    int
	at       store.Position
	said     *tunnel.Withheld
	released []store.Key
}

func newSite(t *testing.T, objects, share int) *site {
	s := &site{
		t:     t,
		path:  filepath.Join(t.TempDir(), "agent.db"),
		share: share,
		at:    store.Position{Incarnation: store.NewIncarnation()},
	}
	s.open()
	var all []store.Entry
	for i := range objects {
		all = append(all, storetest.Value(i, 1, `{}`))
	}
	s.commit(all...)
	return s
}

func (s *site) open() {
	s.t.Helper()
	var err error
	if s.file, err = bolt.Open(s.path, bolt.Options{}); err != nil {
		s.t.Fatal(err)
	}
	sink, err := s.file.Sink("desired", bolt.SinkOptions{KeepRemoved: true})
	if err != nil {
		s.t.Fatal(err)
	}
	s.said = nil
	s.Guard, err = Open(Config{Copy: sink, Share: s.share, Log: slog.New(slog.DiscardHandler),
		Values: s.file, Status: s})
	if err != nil {
		s.t.Fatal(err)
	}
	s.Bind(s)
}

func (s *site) Withhold(w *tunnel.Withheld) { s.said = w }
func (s *site) Changed(keys []store.Key)    { s.released = append(s.released, keys...) }

func (s *site) restart() {
	s.t.Helper()
	if err := s.file.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.open()
}

// commit stores entries at the next revision.
func (s *site) commit(entries ...store.Entry) {
	s.t.Helper()
	s.at.Revision++
	s.part(false, entries...)
}

func (s *site) part(more bool, entries ...store.Entry) {
	s.t.Helper()
	through := s.at
	if more {
		through = s.Position()
	}
	if err := s.Commit(context.Background(), store.Batch{Entries: entries, Through: through, More: more}); err != nil {
		s.t.Fatal(err)
	}
}

// gone are tombstones of the objects from a to b, at the next revision.
func (s *site) gone(a, b int) (out []store.Entry) {
	for i := a; i < b; i++ {
		out = append(out, storetest.Tombstone(i, s.at.Revision+1))
	}
	return out
}

// waiting counts the tombstones in the file that must wait, and those that need not.
func (s *site) waiting() (held, free int) {
	s.t.Helper()
	err := s.Each(func(e store.Entry) error {
		if s.Holds(e) {
			held++
		} else if e.Tombstone {
			free++
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return held, free
}

func (s *site) want(what string, held, free int) {
	s.t.Helper()
	if h, f := s.waiting(); h != held || f != free {
		s.t.Errorf("%s: %d deletions wait and %d go on, want %d and %d", what, h, f, held, free)
	}
	if (held > 0) != (s.said != nil) || held > 0 && s.said.Deletions != held {
		s.t.Errorf("%s: said %+v, held %d", what, s.said, held)
	}
}

func TestTooManyAtOnce(t *testing.T) {
	for _, c := range []struct {
		objects, share, gone int
		held                 bool
	}{
		{100, 0, 30, false},
		{100, 0, 31, true},
		{1000, 0, 300, false},
		{1000, 0, 301, true},
		{12, 0, 9, false},
		{12, 0, 10, true},
		{12, 0, 12, true},
		{9, 0, 9, false},
		{100, 50, 50, false},
		{100, 50, 51, true},
		{100, 100, 100, false},
	} {
		s := newSite(t, c.objects, c.share)
		s.commit(s.gone(0, c.gone)...)
		held, free := 0, c.gone
		if c.held {
			held, free = c.gone, 0
		}
		s.want(fmt.Sprintf("%d of %d, share %d", c.gone, c.objects, c.share), held, free)
	}
}

// Deletions that come one by one count together for a while: the rest of a namespace waits, and the
// next day is another one.
func TestDeletionsOfAWindowCountTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 100, 0)
		for i := range 40 {
			time.Sleep(Window / 50)
			s.commit(s.gone(i, i+1)...)
		}
		s.want("40 one after the other", 10, 30)
		if s.said.Objects != 100 || len(s.said.First) != named || s.said.UpTo != s.at.Revision {
			t.Errorf("said %+v", s.said)
		}

		s = newSite(t, 100, 0)
		for i := range 7 {
			time.Sleep(Window + time.Second)
			s.commit(s.gone(10*i, 10*i+10)...)
		}
		s.want("70 slowly", 0, 70)
	})
}

// What goes on elsewhere, what stays on the target, and what is not here any more is no loss,
// however much it is.
func TestWhatIsNoLossIsNotHeld(t *testing.T) {
	for name, change := range map[string]func(*store.Entry){
		"moved":    func(e *store.Entry) { e.Intended = true },
		"orphaned": func(e *store.Entry) { e.Removal = store.RemoveOrphan },
	} {
		s := newSite(t, 40, 0)
		entries := s.gone(0, 40)
		for i := range entries {
			change(&entries[i])
		}
		s.commit(entries...)
		s.want(name, 0, 40)
	}
	s := newSite(t, 40, 0)
	s.commit(s.gone(0, 12)...)
	s.commit(s.gone(0, 12)...) // once more, as after a lost acknowledgement
	s.want("known tombstones", 0, 12)
}

// While deletions wait everything else goes on, further deletions wait too, and what comes back is
// not held any more.
func TestOnlyDeletionsWait(t *testing.T) {
	s := newSite(t, 100, 0)
	s.commit(s.gone(0, 20)...)
	s.want("before", 0, 20)
	s.commit(s.gone(20, 60)...)
	s.want("held", 40, 20)
	moved := s.gone(60, 61)
	moved[0].Intended = true
	s.commit(append(moved, storetest.Value(99, s.at.Revision+1, `{"new":true}`))...)
	s.commit(s.gone(61, 62)...)
	s.want("later", 41, 21)
	var back []store.Entry
	for i := 20; i < 30; i++ {
		back = append(back, storetest.Value(i, s.at.Revision+1, `{"again":true}`))
	}
	s.commit(back...)
	s.want("some are back", 31, 21)
	back = nil
	for i := 30; i < 62; i++ {
		back = append(back, storetest.Value(i, s.at.Revision+1, `{"again":true}`))
	}
	s.commit(back...)
	s.want("all are back", 0, 20)
}

func TestConfirmedDeletionsGoOn(t *testing.T) {
	s := newSite(t, 100, 0)
	s.commit(s.gone(0, 50)...)
	shown := *s.said
	if s.restart(); s.said == nil || s.said.Deletions != 50 || s.said.UpTo != shown.UpTo || s.said.Objects != 100 {
		t.Fatalf("after a restart: %+v", s.said)
	}
	s.want("after a restart", 50, 0)
	s.commit(s.gone(50, 60)...) // not shown yet
	if err := s.Confirm(shown.UpTo - 1); err != nil {
		t.Fatal(err)
	}
	s.want("an older word", 60, 0)
	if err := s.Confirm(shown.UpTo); err != nil {
		t.Fatal(err)
	}
	s.want("confirmed", 10, 50)
	if len(s.released) != 50 || slices.Contains(s.released, storetest.Key(55)) {
		t.Errorf("%d keys were released", len(s.released))
	}
	for i, want := range map[int]bool{3: true, 55: false} {
		if e, _, _ := s.Get(storetest.Key(i)); s.Confirmed(e) != want {
			t.Errorf("object %d: confirmed %t", i, !want)
		}
	}
	s.restart()
	s.want("confirmed, and restarted", 10, 50)
	if err := s.Confirm(s.said.UpTo); err != nil {
		t.Fatal(err)
	}
	s.want("all confirmed", 0, 60)
	s.restart()
	s.want("all confirmed, and restarted", 0, 60)
	s.commit(s.gone(60, 90)...)
	s.want("another mistake", 30, 60)
}

// Nothing of a position is deleted before all of it is here: only all of It reports whether it is
// too much.
func TestPartsOfAPositionAreWeighedTogether(t *testing.T) {
	for _, c := range []struct {
		parts      int
		held, free int
	}{{3, 0, 30}, {4, 40, 0}} {
		s := newSite(t, 100, 0)
		for i := range c.parts - 1 {
			s.part(true, s.gone(10*i, 10*i+10)...)
			if held, free := s.waiting(); held != 10*i+10 || free != 0 {
				t.Errorf("after part %d %d deletions wait and %d go on", i, held, free)
			}
		}
		s.restart()
		if held, free := s.waiting(); held != 10*c.parts-10 || free != 0 {
			t.Errorf("after a restart in between %d deletions wait and %d go on", held, free)
		}
		s.commit(s.gone(10*c.parts-10, 10*c.parts)...)
		s.want(fmt.Sprintf("%d parts", c.parts), c.held, c.free)
		if c.held == 0 && len(s.released) != 20 {
			t.Errorf("%d keys were released", len(s.released))
		}
	}
}

// An accepted center may delete as many objects as the admin was shown, and not one more.
func TestDeletionsOfAnAcceptedCenter(t *testing.T) {
	for _, c := range []struct{ allowed, gone, held int }{{50, 50, 0}, {49, 50, 50}, {0, 50, 50}, {0, 9, 0}} {
		s := newSite(t, 100, 0)
		if err := s.Allow(c.allowed); err != nil {
			t.Fatal(err)
		}
		s.at = store.Position{Incarnation: store.NewIncarnation(), Revision: 3}
		if err := s.Accept(s.at); err != nil {
			t.Fatal(err)
		}
		s.restart()
		first := s.gone(0, c.gone/2)
		s.part(true, first...)
		s.commit(s.gone(c.gone/2, c.gone)...)
		s.want(fmt.Sprintf("allowed %d, deleted %d", c.allowed, c.gone), c.held, c.gone-c.held)
		if e, _, _ := s.Get(storetest.Key(0)); s.Confirmed(e) != (c.allowed == c.gone) {
			t.Errorf("allowed %d, deleted %d: confirmed %t", c.allowed, c.gone, s.Confirmed(e))
		}
		s.commit(s.gone(c.gone, c.gone+40)...)
		if held, _ := s.waiting(); held != c.held+40 {
			t.Errorf("what an admin accepted counts for what comes later: %d wait", held)
		}
	}
}

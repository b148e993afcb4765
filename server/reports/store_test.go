package reports

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest"
	"skerry.dev/skerry/tunnel/delta"
	"skerry.dev/skerry/tunnel/pipe"
)

// Of a target that reports without end no more than so many objects are taken, and what it says of
// those goes on; others do not notice. What it takes back leaves nothing behind, and makes room.
func TestInboxesAreBounded(t *testing.T) {
	placed, crowded := map[string]int{"busy": 1}, 0
	boxes := New(Config{
		Path:     filepath.Join(t.TempDir(), "reports.db"),
		Reported: func(string, []store.Key) {},
		Placed:   func(target string) int { return placed[target] },
		Crowded:  func(string) { crowded++ },
		Log:      slog.New(slog.DiscardHandler),
	})
	defer boxes.Close()
	at := store.Position{Incarnation: store.NewIncarnation()}
	commit := func(target string, entries ...store.Entry) error {
		t.Helper()
		box, err := boxes.Open(target)
		if err != nil {
			t.Fatal(err)
		}
		at.Revision++
		return box.Commit(t.Context(), store.Batch{Entries: entries, Through: at})
	}
	values := func(from, to int) (out []store.Entry) {
		for i := from; i < to; i++ {
			out = append(out, storetest.Value(i, at.Revision+1, `{}`))
		}
		return out
	}
	want := func(what, target string, err error, reports, unkept int) {
		t.Helper()
		if n, left := boxes.Len(target), boxes.Unkept(target); err != nil || n != reports || left != unkept {
			t.Errorf("%s: %d reports, and %d are not kept, want %d and %d: %v", what, n, left, reports, unkept, err)
		}
	}
	for n := 0; n < mostReports; n += 5000 {
		want("what it may", "rogue", commit("rogue", values(n, n+5000)...), n+5000, 0)
	}
	want("two more", "rogue", commit("rogue", values(mostReports, mostReports+2)...), mostReports, 2)
	want(
		"one of them again, and another",
		"rogue",
		commit("rogue", values(mostReports+1, mostReports+3)...),
		mostReports,
		3,
	)
	want(
		"one that was not taken goes",
		"rogue",
		commit("rogue", storetest.Tombstone(mostReports+1, at.Revision+1)),
		mostReports,
		2,
	)
	want(
		"one that comes and goes",
		"rogue",
		commit(
			"rogue",
			append(values(mostReports+7, mostReports+8), storetest.Tombstone(mostReports+7, at.Revision+1))...),
		mostReports,
		2,
	)
	want(
		"one for one",
		"rogue",
		commit("rogue", append(values(mostReports, mostReports+1), storetest.Tombstone(7, at.Revision+1))...),
		mostReports,
		1,
	)
	if e, ok, err := boxes.open["rogue"].Get(storetest.Key(7)); ok || err != nil {
		t.Errorf("what is taken back is %+v, %v", e, err)
	}
	changed := storetest.Value(8, at.Revision+1, `{"changed":1}`)
	want(
		"what is there, another one, and news of it",
		"rogue",
		commit("rogue", append(values(mostReports+2, mostReports+3), changed)...),
		mostReports,
		1,
	)
	if e, ok, err := boxes.open["rogue"].Get(storetest.Key(8)); !ok || err != nil || e.Hash != changed.Hash {
		t.Errorf("what is there does not go on: %+v, %v", e, err)
	}
	want("another target", "honest", commit("honest", values(0, 5)...), 5, 0)
	for n := 0; n < mostReports; n += 5000 {
		want("what a busy one may", "busy", commit("busy", values(n, n+5000)...), n+5000, 0)
	}
	want(
		"what a busy one may, and one more",
		"busy",
		commit("busy", values(mostReports, mostReports+mostReportsPerObject+1)...),
		mostReports+mostReportsPerObject,
		1,
	)
	gone := func(from, to int) (out []store.Entry) {
		for i := from; i < to; i++ {
			out = append(out, storetest.Tombstone(i, at.Revision+1))
		}
		return out
	}
	want("what is taken back", "rogue", commit("rogue", gone(100, 200)...), mostReports-100, 1)
	want("and comes anew", "rogue", commit("rogue", values(100, 200)...), mostReports, 1)
	if crowded != 2 {
		t.Errorf("that there is no room was told %d times, of two", crowded)
	}
	if err := commit("rogue", gone(100, 100+mostReports/4)...); !errors.Is(err, errRoomAgain) ||
		boxes.Unkept("rogue") != 0 ||
		crowded != 3 {
		t.Errorf("a quarter is free, and the session goes on: %v", err)
	}
}

// reporter is a target that reports to an inbox, in sessions.
type reporter struct {
	t        *testing.T
	boxes    *Store
	feed     *store.Feed
	mu       sync.Mutex
	bodies   map[store.Key][]byte
	revision int64
}

func newReporter(t *testing.T) *reporter {
	r := &reporter{t: t, bodies: map[store.Key][]byte{},
		boxes: New(Config{
			Path:     filepath.Join(t.TempDir(), "reports.db"),
			Reported: func(string, []store.Key) {},
			Placed:   func(string) int { return 0 },
			Log:      slog.New(slog.DiscardHandler),
		})}
	r.feed = store.NewFeed(store.NewIncarnation(), 0, func(_ context.Context, k store.Key) ([]byte, int64, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.bodies[k], 1, nil
	})
	t.Cleanup(func() {
		if err := r.boxes.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// set reports a body under a key; nil takes it back.
func (r *reporter) set(i int, body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.revision++
	c := store.Change{Key: storetest.Key(i), Generation: 1}
	if r.bodies[c.Key] = body; body != nil {
		c.Hash = store.HashReport(1, body)
	}
	r.feed.Apply(r.revision, c)
}

// all reports whether the inbox has all that is reported, and come whether all of it has been sent.
func (r *reporter) all(box *inbox) bool  { return r.come(box) && box.Root() == r.feed.Root() }
func (r *reporter) come(box *inbox) bool { return box.Position() == r.feed.Head() }

// session runs one until the inbox has what there is to be, or, when that is to be, until it does
// not go on, and returns what crossed. during is done when the inbox has that for the first time.
// It is the inbox that opens the stream here, because it speaks first.
func (r *reporter) session(there func(*inbox) bool, ends bool, during func()) (bytes uint64, ended error) {
	r.t.Helper()
	opened, err := r.boxes.Open("rogue")
	if err != nil {
		r.t.Fatal(err)
	}
	box := r.boxes.open["rogue"]
	child, parent := pipe.New(pipe.Options{})
	ctx, cancel := context.WithCancel(r.t.Context())
	sent, received := make(chan error, 1), make(chan error, 1)
	stream, err := child.OpenStream(ctx)
	if err != nil {
		r.t.Fatal(err)
	}
	go func() { received <- delta.Receive(ctx, stream, opened, delta.ReceiveOptions{}) }()
	go func() {
		s, err := parent.AcceptStream(ctx)
		if err == nil {
			err = delta.Send(ctx, s, r.feed, delta.Up(delta.LAN))
		}
		sent <- err
	}()
	for end := time.Now().Add(time.Minute); ends || !there(box) || during != nil; time.Sleep(time.Millisecond) {
		if during != nil && there(box) {
			during()
			during = nil
		}
		select {
		case ended = <-received:
			received <- ended
		default:
		}
		if ended != nil {
			break
		}
		if time.Now().After(end) {
			r.t.Fatalf("the inbox is at %s, the feed at %s", box.Position(), r.feed.Head())
		}
	}
	st := child.Stats()
	cancel()
	<-sent
	<-received
	child.Close(nil)
	parent.Close(nil)
	return st.SentBytes + st.ReceivedBytes, ended
}

// A target that reports on more objects than it may keeps its session; what did not fit comes when
// there is room.
func TestTooManyReportsEndNoSession(t *testing.T) {
	const more = 50
	r := newReporter(t)
	for i := range mostReports + more {
		r.set(i, []byte(`{}`))
	}
	unkept := func(what string, want int) {
		t.Helper()
		if got, has := r.boxes.Unkept("rogue"), r.boxes.Len("rogue"); got != want || has > mostReports {
			t.Errorf("%s: of %d reports %d are kept and %d are not, want %d", what, len(r.bodies), has, got, want)
		}
	}
	for range 2 {
		if _, err := r.session(r.come, false, nil); err != nil {
			t.Fatal(err)
		}
		unkept("all have come", more)
	}
	// has are the first reports that are kept.
	has := func(n int) (out []int) {
		for i := 0; len(out) < n && i < mostReports+more; i++ {
			if _, ok, err := r.boxes.Report("rogue", storetest.Key(i)); ok && err == nil {
				out = append(out, i)
			}
		}
		return out
	}
	known, news := has(1)[0], []byte(`{"news":1}`)
	if _, err := r.session(r.come, false, func() { r.set(known, news) }); err != nil {
		t.Error(err)
	}
	if e, _, err := r.boxes.Report("rogue", storetest.Key(known)); err != nil || string(e.Body) != string(news) {
		t.Errorf("what is there does not go on: %s, %v", e.Body, err)
	}
	for _, i := range has(mostReports / 4) {
		r.set(i, nil)
	}
	// What was left out comes right away where the copy is compared after the room was made, and
	// else in the next session.
	_, err := r.session(r.all, false, nil)
	if errors.Is(err, errRoomAgain) {
		_, err = r.session(r.all, false, nil)
	}
	if err != nil {
		t.Error(err)
	}
	unkept("there was room again", 0)
}

// A target whose reports take more bytes than it may goes on, without those that do not fit: they
// are not sent again, other targets do not notice, and when there is room they come.
func TestBytesOfReportsAreBounded(t *testing.T) {
	r := newReporter(t)
	const n, size = 72, 1<<20 - 100
	noise := rand.NewChaCha8([32]byte{})
	for i := range n {
		body := make([]byte, size)
		_, _ = noise.Read(body) // it never fails
		r.set(i, body)
	}
	unkept := func(what string, want int) {
		t.Helper()
		if got := r.boxes.Unkept("rogue"); got != want || r.boxes.open["rogue"].Size() > mostReportBytes {
			t.Errorf(
				"%s: %d of %d reports are not kept, want %d; %d bytes",
				what,
				got,
				r.boxes.Len("rogue"),
				want,
				r.boxes.open["rogue"].Size(),
			)
		}
	}
	if _, err := r.session(r.all, false, nil); err != nil {
		t.Fatal(err)
	}
	const missing = n - mostReportBytes/size
	unkept("all have come", missing)
	if bytes, err := r.session(r.all, false, nil); err != nil || bytes > 4<<10 {
		t.Errorf("%d bytes crossed when it came again, %v", bytes, err)
	}
	unkept("after another session", missing)
	if _, ok, err := r.boxes.Report("rogue", storetest.Key(n-1)); ok || err != nil {
		t.Errorf("a report that is not kept is there: %t, %v", ok, err)
	}
	if _, err := r.session(r.all, false, func() { r.set(n-1, []byte(`{"status":{}}`)) }); err != nil {
		t.Errorf("one that was not kept has become small: %v", err)
	}
	unkept("one is small now", missing-1)
	_, err := r.session(r.all, true, func() {
		for i := range n / 3 {
			r.set(i, nil)
		}
	})
	if !errors.Is(err, errRoomAgain) {
		t.Errorf("there is room, and the session goes on: %v", err)
	}
	if _, err := r.session(r.all, false, nil); err != nil {
		t.Error(err)
	}
	unkept("there was room again", 0)
	if e, ok, err := r.boxes.Report("rogue", storetest.Key(n-2)); !ok || err != nil || len(e.Body) != size {
		t.Errorf("a report of %d bytes, %t, %v", len(e.Body), ok, err)
	}
}

// A target that is renamed brings its reports with their values. The old name is forgotten by itself.
func TestReportsAreCopied(t *testing.T) {
	r := newReporter(t)
	sink, err := r.boxes.Open("old")
	if err != nil {
		t.Fatal(err)
	}
	const n = copyBatch + 7
	batch := store.Batch{Through: store.Position{Incarnation: store.NewIncarnation(), Revision: n}}
	for i := range n {
		body := fmt.Appendf(nil, `{"n":%d}`, i)
		batch.Entries = append(batch.Entries, store.Entry{
			Key: storetest.Key(i), Hash: store.HashReport(1, body), Generation: 1, Revision: int64(i + 1), Body: body,
		})
	}
	if err := sink.Commit(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a rename that failed is tried again
		if err := r.boxes.Copy("old", "new"); err != nil {
			t.Fatal(err)
		}
	}
	r.boxes.Forget("old")
	if had := r.boxes.Len("old"); had != 0 {
		t.Errorf("the old name has %d reports", had)
	}
	for i := range n {
		e, ok, err := r.boxes.Report("new", storetest.Key(i))
		if err != nil || !ok || string(e.Body) != fmt.Sprintf(`{"n":%d}`, i) {
			t.Fatalf("report %d is %q, %t, %v", i, e.Body, ok, err)
		}
	}
	if err := r.boxes.Copy("nobody", "other"); err != nil || r.boxes.Len("other") != 0 {
		t.Errorf("of a target without reports %d come (%v)", r.boxes.Len("other"), err)
	}
}

package server

import (
	"context"
	"errors"
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

// A target that reports without end is stopped; others go on, and so does it with what it may. What it takes back leaves nothing behind.
func TestInboxesAreBounded(t *testing.T) {
	placed := map[string]int{"busy": 1}
	boxes := newInboxes(filepath.Join(t.TempDir(), "reports.db"), func(string, []store.Key) {}, func(target string) int { return placed[target] }, slog.New(slog.DiscardHandler))
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
	want := func(what string, err error, refused bool) {
		t.Helper()
		if errors.Is(err, errTooManyReports) != refused || err != nil && !refused {
			t.Errorf("%s: %v", what, err)
		}
	}
	for n := 0; n < mostReports; n += 5000 {
		want("what it may", commit("rogue", values(n, n+5000)...), false)
	}
	want("one more", commit("rogue", values(mostReports, mostReports+1)...), true)
	want("what is there, again", commit("rogue", values(0, 5000)...), false)
	want("one for one", commit("rogue", append(values(mostReports, mostReports+1), storetest.Tombstone(7, at.Revision+1))...), false)
	want("one more", commit("rogue", values(mostReports+1, mostReports+2)...), true)
	if n := boxes.Len("rogue"); n != mostReports {
		t.Errorf("%d reports", n)
	}
	if e, ok, err := boxes.open["rogue"].Get(storetest.Key(7)); ok || err != nil {
		t.Errorf("what is taken back is %+v, %v", e, err)
	}
	want("another target", commit("honest", values(0, 5)...), false)
	for n := 0; n < mostReports; n += 5000 {
		want("what a busy one may", commit("busy", values(n, n+5000)...), false)
	}
	want("what a busy one may", commit("busy", values(mostReports, mostReports+mostReportsPerObject)...), false)
	want("one more of a busy one", commit("busy", values(mostReports+mostReportsPerObject, mostReports+mostReportsPerObject+1)...), true)
	var gone []store.Entry
	for i := range 100 {
		gone = append(gone, storetest.Tombstone(100+i, at.Revision+1))
	}
	want("what is taken back", commit("rogue", gone...), false)
	want("and comes anew", commit("rogue", values(100, 200)...), false)
}

// A target whose reports take more bytes than it may goes on, without those that do not fit: they are not sent again, other targets do not notice, and when
// there is room they come.
func TestBytesOfReportsAreBounded(t *testing.T) {
	boxes := newInboxes(filepath.Join(t.TempDir(), "reports.db"), func(string, []store.Key) {}, func(string) int { return 0 }, slog.New(slog.DiscardHandler))
	defer boxes.Close()
	const n, size = 72, 1<<20 - 100
	var mu sync.Mutex
	bodies := map[store.Key][]byte{}
	feed := store.NewFeed(store.NewIncarnation(), 0, func(_ context.Context, k store.Key) ([]byte, int64, error) {
		mu.Lock()
		defer mu.Unlock()
		return bodies[k], 1, nil
	})
	revision := int64(0)
	set := func(i int, body []byte) {
		mu.Lock()
		defer mu.Unlock()
		revision++
		c := store.Change{Key: storetest.Key(i), Generation: 1}
		if bodies[c.Key] = body; body != nil {
			c.Hash = store.HashReport(1, body)
		}
		feed.Apply(revision, c)
	}
	noise := rand.NewChaCha8([32]byte{})
	for i := range n {
		body := make([]byte, size)
		_, _ = noise.Read(body) // it never fails
		set(i, body)
	}
	// session runs one until the inbox has all, or, when that is to be, until it does not go on, and returns what crossed. It is the inbox that opens the stream here, because it speaks first.
	session := func(ends bool, during func()) (bytes uint64, ended error) {
		t.Helper()
		box, err := boxes.Open("rogue")
		if err != nil {
			t.Fatal(err)
		}
		child, parent := pipe.New(pipe.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		sent, received := make(chan error, 1), make(chan error, 1)
		stream, err := child.OpenStream(ctx)
		if err != nil {
			t.Fatal(err)
		}
		go func() { received <- delta.Receive(ctx, stream, box, delta.ReceiveOptions{}) }()
		go func() {
			s, err := parent.AcceptStream(ctx)
			if err == nil {
				err = delta.Send(ctx, s, feed, delta.Up(delta.LAN))
			}
			sent <- err
		}()
		there := func() bool { return box.Position() == feed.Head() && box.Root() == feed.Root() }
		for end := time.Now().Add(time.Minute); ends || !there() || during != nil; time.Sleep(time.Millisecond) {
			if during != nil && there() {
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
				t.Fatalf("the inbox is at %s, the feed at %s", box.Position(), feed.Head())
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
	unkept := func(what string, want int) {
		t.Helper()
		if got := boxes.Unkept("rogue"); got != want || boxes.open["rogue"].Size() > mostReportBytes {
			t.Errorf("%s: %d of %d reports are not kept, want %d; %d bytes", what, got, boxes.Len("rogue"), want, boxes.open["rogue"].Size())
		}
	}
	if _, err := session(false, nil); err != nil {
		t.Fatal(err)
	}
	const missing = n - mostReportBytes/size
	unkept("all have come", missing)
	if bytes, err := session(false, nil); err != nil || bytes > 4<<10 {
		t.Errorf("%d bytes crossed when it came again, %v", bytes, err)
	}
	unkept("after another session", missing)
	if _, ok, err := boxes.Report("rogue", storetest.Key(n-1)); ok || err != nil {
		t.Errorf("a report that is not kept is there: %t, %v", ok, err)
	}
	if _, err := session(false, func() { set(n-1, []byte(`{"status":{}}`)) }); err != nil {
		t.Errorf("one that was not kept has become small: %v", err)
	}
	unkept("one is small now", missing-1)
	_, err := session(true, func() {
		for i := range n / 3 {
			set(i, nil)
		}
	})
	if !errors.Is(err, errRoomAgain) {
		t.Errorf("there is room, and the session goes on: %v", err)
	}
	if _, err := session(false, nil); err != nil {
		t.Error(err)
	}
	unkept("there was room again", 0)
	if e, ok, err := boxes.Report("rogue", storetest.Key(n-2)); !ok || err != nil || len(e.Body) != size {
		t.Errorf("a report of %d bytes, %t, %v", len(e.Body), ok, err)
	}
}

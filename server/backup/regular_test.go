package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"skerry.dev/skerry/server/backup/destination"
	"skerry.dev/skerry/server/backup/schedule"
)

// shelf is a destination in memory.
type shelf struct {
	mu     sync.Mutex
	stored []destination.Stored
	fail   error // of each call
	blind  bool  // does not list what was put last
}

func (s *shelf) Put(_ context.Context, name destination.Name, path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := os.Stat(path)
	if err = errors.Join(err, s.fail); err == nil {
		s.stored = append(s.stored, destination.Stored{Name: name, Size: info.Size()})
	}
	return err
}

func (s *shelf) List(context.Context) ([]destination.Stored, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.stored)
	if s.blind {
		out = out[:len(out)-1]
	}
	slices.SortFunc(out, func(a, b destination.Stored) int { return a.Made.Compare(b.Made) })
	return out, s.fail
}

func (s *shelf) Remove(_ context.Context, name destination.Name) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored = slices.DeleteFunc(s.stored, func(b destination.Stored) bool { return b.Name == name })
	return s.fail
}

func (s *shelf) Staging() string { return "" }
func (s *shelf) String() string  { return "shelf" }

// ages are those of the backups of a center, newest first, in minutes.
func (s *shelf) ages(center string) (out []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.stored {
		if b.Center == center {
			out = append(out, int(time.Since(b.Made).Minutes()))
		}
	}
	slices.Sort(out)
	return out
}

func (s *shelf) failing(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

// regular is what backs up "abc" each hour, keeping three.
func regular(t *testing.T, to destination.Destination, log *bytes.Buffer) *Regular {
	t.Helper()
	s, err := schedule.Parse("1h")
	keep, wrong := schedule.ParseRetention("3")
	if err = errors.Join(err, wrong); err != nil {
		t.Fatal(err)
	}
	from := center(t)
	return NewRegular(RegularConfig{Plan: Plan{To: to, Schedule: s, Keep: keep}, Center: "abc", Database: plain.File,
		Scratch: t.TempDir(), Room: func(context.Context, string) error { return nil },
		Log: slog.New(slog.NewTextHandler(log, nil)),
		Take: func(ctx context.Context, path string) (Manifest, error) {
			return Take(ctx, TakeOptions{Dir: from, File: path, Version: "v1", Database: plain})
		}})
}

// run runs it until the test's function ends.
func run(r *Regular, during func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { _ = r.Run(ctx) })
	synctest.Wait()
	during()
	cancel()
	done.Wait()
}

func TestRegular(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := destination.Stored{Name: destination.Name{Center: "bbb", Made: time.Now().Add(-100 * time.Hour)}}
		to := &shelf{stored: []destination.Stored{other}}
		var log bytes.Buffer
		r := regular(t, to, &log)
		if n := testutil.CollectAndCount(r); n != 0 {
			t.Errorf("%d metrics before it runs", n)
		}
		run(r, func() {
			if got := to.ages("abc"); !slices.Equal(got, []int{0}) {
				t.Errorf("at once: %v", got)
			}
			time.Sleep(150 * time.Minute)
			if got := to.ages("abc"); !slices.Equal(got, []int{30, 90, 150}) {
				t.Errorf("after 2.5 hours: %v", got)
			}
			time.Sleep(3 * time.Hour)
			if got := to.ages("abc"); !slices.Equal(got, []int{30, 90, 150}) || len(to.ages("bbb")) != 1 {
				t.Errorf("after 5.5 hours: %v, and %v of another center", got, to.ages("bbb"))
			}
		})
		if left, err := os.ReadDir(r.cfg.Scratch); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		// A new process goes on where the last one was.
		time.Sleep(10 * time.Minute)
		run(regular(t, to, &log), func() {
			if got := to.ages("abc"); !slices.Equal(got, []int{40, 100, 160}) {
				t.Errorf("after a restart: %v", got)
			}
			time.Sleep(21 * time.Minute)
			if got := to.ages("abc"); !slices.Equal(got, []int{1, 61, 121}) {
				t.Errorf("an hour after the last one: %v", got)
			}
		})
		// What was missed is made up for.
		time.Sleep(24 * time.Hour)
		run(regular(t, to, &log), func() {
			if got := to.ages("abc"); got[0] != 0 {
				t.Errorf("after a day: %v", got)
			}
		})
		if strings.Contains(log.String(), "level=ERROR") || strings.Contains(log.String(), "level=WARN") {
			t.Error(log.String())
		}
	})
}

func TestRegularFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &shelf{fail: errors.New("the bucket is away")}
		var log bytes.Buffer
		r := regular(t, to, &log)
		run(r, func() {
			time.Sleep(8 * time.Minute) // tried at 0, 1, 3 and 7
			metrics := func(failures int) {
				t.Helper()
				want := fmt.Sprintf(`
# HELP skerry_backup_failures_total Scheduled backups that could not be taken, each retry counted.
# TYPE skerry_backup_failures_total counter
skerry_backup_failures_total %d
`, failures)
				if err := testutil.CollectAndCompare(r, strings.NewReader(want), "skerry_backup_failures_total"); err != nil {
					t.Error(err)
				}
			}
			metrics(4)
			to.failing(nil)
			time.Sleep(8 * time.Minute) // at 15
			if got := to.ages("abc"); len(got) != 1 {
				t.Errorf("when the bucket is there again: %v", got)
			}
			metrics(4)
		})
		if n := strings.Count(log.String(), "the bucket is away"); n != 4 {
			t.Errorf("said %d times: %s", n, log.String())
		}
	})
}

// Old backups stay while the newest one is not seen at its destination, or is not sound.
func TestOldOnesStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &shelf{blind: true, stored: []destination.Stored{{}}}
		for i := range 5 {
			to.stored = append(to.stored, destination.Stored{Name: destination.Name{Center: "abc",
				Made: time.Now().Add(-time.Duration(10+i) * time.Hour).Truncate(time.Second)}})
		}
		var log bytes.Buffer
		run(regular(t, to, &log), func() {
			if got := to.ages("abc"); len(got) != 6 || !strings.Contains(log.String(), "is not listed") {
				t.Errorf("kept %v: %s", got, log.String())
			}
		})
		to.blind = false
		r := regular(t, to, &log)
		r.cfg.Take = func(_ context.Context, path string) (Manifest, error) {
			return Manifest{Made: time.Now()}, os.WriteFile(path, []byte("broken"), 0o600)
		}
		time.Sleep(2 * time.Hour)
		run(r, func() {
			if got := to.ages("abc"); len(got) != 6 || !strings.Contains(log.String(), "not a sound backup") {
				t.Errorf("kept %v: %s", got, log.String())
			}
		})
	})
}

// A replica that leads no more stores nothing, and what one that was killed left is removed.
func TestOnlyTheLeaderStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &shelf{}
		var log bytes.Buffer
		r := regular(t, to, &log)
		r.cfg.Leads = func() bool { return false }
		write(t, filepath.Join(r.cfg.Scratch, ".skerry-backup-abc", "backup"), []byte("half"))
		run(r, func() {
			if got := to.ages("abc"); len(got) != 0 || !strings.Contains(log.String(), "does not lead") {
				t.Errorf("stored %v: %s", got, log.String())
			}
		})
	})
}

// In a directory the file takes its place without a copy, whole.
func TestIntoADirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var log bytes.Buffer
		run(regular(t, destination.Directory(dir), &log), func() {})
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 {
			t.Fatalf("the directory has %v, %v: %s", entries, err, log.String())
		}
		to := filepath.Join(t.TempDir(), "new")
		if m, err := Restore(t.Context(), RestoreOptions{File: dir, Dir: to, Database: plain}); err != nil || m.Revision != 17 {
			t.Errorf("restored %+v, %v", m, err)
		}
	})
}

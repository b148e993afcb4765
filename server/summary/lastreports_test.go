package summary

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// reportCounter has the last reports of targets, and how many of them were read.
type reportCounter struct {
	mu    sync.Mutex
	of    map[string]store.Report
	reads int
	fails bool
	// during is called when the report of the last target is read.
	during func()
}

func (c *reportCounter) Report(target string, k store.Key) (store.Entry, bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reads++; c.fails {
		return store.Entry{}, false, errors.New("the disk is gone")
	}
	r, ok := c.of[target]
	if c.during != nil && target == names(20)[19] {
		c.mu.Unlock()
		c.during()
		c.mu.Lock()
	}
	if !ok {
		return store.Entry{}, false, nil
	}
	body, err := json.Marshal(r)
	return store.Entry{Key: k, Body: body}, true, err
}

// says has a target report so many replicas of the object with a UID; none takes its report away.
func (c *reportCounter) says(s *Summary, target, uid string, replicas int) {
	c.mu.Lock()
	if c.of[target] = (store.Report{OriginUID: uid, At: rand.Int64(), Status: status(`{"replicas":%d}`, replicas)}); uid == "" {
		delete(c.of, target)
	}
	c.mu.Unlock()
	s.last.record(target, web)
}

// truth is what the reports about an object say now.
func (c *reportCounter) truth(at placement.Located) (out []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range at.Targets {
		text := ""
		if r := c.of[t]; r.OriginUID == at.UID {
			text = string(r.Status)
		}
		out = append(out, text)
	}
	return out
}

func statusesOf(reports []*store.Report) (out []string) {
	for _, r := range reports {
		text := ""
		if r != nil {
			text = string(bytes.TrimSpace(r.Status))
		}
		out = append(out, text)
	}
	return out
}

// names are those of n targets.
func names(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("site-%03d", i))
	}
	return out
}

func newReportCounter() (*reportCounter, *Summary) {
	c := &reportCounter{of: map[string]store.Report{}}
	return c, &Summary{cfg: Config{Reports: c}}
}

// Of an object on many targets only those are read that have reported since, and what many say is kept
// once.
func TestOnlyNewsAreRead(t *testing.T) {
	c, s := newReportCounter()
	at := placement.Located{Key: web, UID: "u", Targets: names(100)}
	for i, target := range at.Targets {
		c.says(s, target, "u", i%3)
	}
	check := func(what string, reads int) {
		t.Helper()
		before := c.reads
		got, err := s.reports(at)
		if err != nil || !slices.Equal(statusesOf(got), c.truth(at)) {
			t.Errorf("%s: %v, %v", what, statusesOf(got), err)
		}
		if n := c.reads - before; n != reads {
			t.Errorf("%s: %d reports are read, want %d", what, n, reads)
		}
	}
	check("at first", 100)
	if n := len(s.last.of[web].texts); n != 3 {
		t.Errorf("%d different reports are kept, want 3", n)
	}
	check("when nothing is new", 0)
	c.says(s, at.Targets[7], "u", 9)
	c.says(s, at.Targets[7], "u", 10)
	c.says(s, at.Targets[8], "", 0)
	check("when two have reported", 2)
	at.Targets = append(names(50), "another")
	check("on other targets", 1)
	c.fails = true
	c.says(s, at.Targets[1], "u", 11)
	if _, err := s.reports(at); err == nil {
		t.Error("a report that cannot be read is no error")
	}
	c.fails = false
	check("after an error", 51)
	at.Targets = names(fewTargets)
	check("on few targets", fewTargets)
	if len(s.last.of) != 0 || s.last.size != 0 {
		t.Errorf("reports of %d objects are kept on few targets, %d bytes", len(s.last.of), s.last.size)
	}
}

// Whatever targets report, and wherever the object is, its reports are the last ones.
func TestKeptReportsAreTheLast(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 8 {
		c, s := newReportCounter()
		at := placement.Located{Key: web, UID: "a", Targets: names(20)}
		for step := range 200 {
			switch random.IntN(12) {
			case 0:
				all := names(30)
				random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
				at.Targets = all[:5+random.IntN(25)]
			case 1:
				at.UID = []string{"a", "b"}[random.IntN(2)]
			case 2:
				s.last.forget(web)
			default:
				c.says(s, names(30)[random.IntN(30)], []string{"", "a", "b"}[random.IntN(3)], random.IntN(4))
			}
			got, err := s.reports(at)
			if want := c.truth(at); err != nil || !slices.Equal(statusesOf(got), want) {
				t.Fatalf("step %d: %q, %v, want %q", step, statusesOf(got), err, want)
			}
			checkKept(t, s)
		}
	}
}

// checkKept checks the accounts of what is kept.
func checkKept(t *testing.T, s *Summary) {
	t.Helper()
	size := 0
	for _, r := range s.last.of {
		size += r.size
		users := map[string]int{}
		for _, one := range r.said {
			if one != nil {
				users[one.text]++
			}
		}
		kept := map[string]int{}
		for text, one := range r.texts {
			kept[text] = one.users
		}
		if !maps.Equal(users, kept) {
			t.Fatalf("kept for %v, used by %v", kept, users)
		}
	}
	if size != s.last.size {
		t.Fatalf("%d bytes are counted, and there are %d", s.last.size, size)
	}
}

// What is reported while reports are read is read the next time.
func TestNewsWhileReportsAreRead(t *testing.T) {
	c, s := newReportCounter()
	at := placement.Located{Key: web, UID: "u", Targets: names(20)}
	n := 0
	c.during = func() {
		n++
		c.says(s, at.Targets[3], "u", n)  // which was read before
		c.says(s, at.Targets[19], "u", n) // which is read now
	}
	for range 5 {
		if _, err := s.reports(at); err != nil {
			t.Fatal(err)
		}
	}
	c.during = nil
	got, err := s.reports(at)
	if want := c.truth(at); err != nil || !slices.Equal(statusesOf(got), want) || want[3] != `{"replicas":5}` {
		t.Errorf("%q, %v, want %q", statusesOf(got), err, want)
	}
}

// Many targets may report while reports are read.
func TestReportsOfManyAtATime(t *testing.T) {
	c, s := newReportCounter()
	at := placement.Located{Key: web, UID: "u", Targets: names(20)}
	var reporting sync.WaitGroup
	for i := range 4 {
		reporting.Go(func() {
			for n := range 200 {
				c.says(s, at.Targets[(i*5+n)%20], "u", n)
			}
		})
	}
	done := make(chan struct{})
	go func() { reporting.Wait(); close(done) }()
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		if _, err := s.reports(at); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.reports(at)
	if want := c.truth(at); err != nil || !slices.Equal(statusesOf(got), want) {
		t.Errorf("%q, %v, want %q", statusesOf(got), err, want)
	}
}

// What is kept is bounded, and goes when it is not used.
func TestKeptReportsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newReportCounter()
		at := placement.Located{Key: web, UID: "u", Targets: names(20)}
		c.says(s, at.Targets[0], "u", 1)
		read := func() {
			t.Helper()
			if _, err := s.reports(at); err != nil {
				t.Fatal(err)
			}
			checkKept(t, s)
		}
		read()
		time.Sleep(keptFor / 2)
		if s.last.sweep(); len(s.last.of) != 1 {
			t.Error("reports that were used just now are dropped")
		}
		time.Sleep(keptFor / 2)
		if s.last.sweep(); len(s.last.of) != 0 || s.last.size != 0 {
			t.Errorf("%d objects are kept that nobody uses, %d bytes", len(s.last.of), s.last.size)
		}
		s.last.size = maxKept // of others
		if _, err := s.reports(at); err != nil || len(s.last.of) != 0 || s.last.size != maxKept {
			t.Errorf("%d objects are kept for which there is no room, %d bytes: %v", len(s.last.of), s.last.size, err)
		}
	})
}

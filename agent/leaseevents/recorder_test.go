package leaseevents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/agent/target"
)

// cluster is what a Recorder writes to.
type cluster struct {
	mu     sync.Mutex
	events map[string]target.Recorded // by namespace and name
	writes int
	fails  func() error
}

func (c *cluster) RecordEvent(_ context.Context, e target.Recorded) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes++
	if c.fails != nil {
		if err := c.fails(); err != nil {
			return err
		}
	}
	c.events[e.About.Namespace+"/"+e.Name] = e
	return nil
}

// answer sets how the next writes fail; nil lets them pass. It returns how many were made before.
func (c *cluster) answer(fails func() error) (writes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	writes, c.writes, c.fails = c.writes, 0, fails
	return writes
}

// of are the Events about objects of a kind with a reason.
func (c *cluster) of(kind, reason string) (out []target.Recorded) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		if e.About.Kind == kind && e.Reason == reason {
			out = append(out, e)
		}
	}
	return out
}

// run runs a Recorder over a cluster in simulated time.
func run(t *testing.T, test func(r *Recorder, c *cluster, log *bytes.Buffer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c, log := &cluster{events: map[string]target.Recorded{}}, &bytes.Buffer{}
		r := New(func() (Writer, error) { return c, nil }, slog.New(slog.NewTextHandler(log, nil)))
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		go r.Run(ctx)
		test(r, c, log)
	})
}

func set(i int) target.Involved {
	return target.Involved{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: fmt.Sprintf("ns-%d", i%7),
		Name: fmt.Sprintf("set-%d", i), UID: fmt.Sprintf("uid-%d", i)}
}

func wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestManyObjectsHaveABoundedNumberOfEvents(t *testing.T) {
	run(t, func(r *Recorder, c *cluster, _ *bytes.Buffer) {
		r.Began("boot 1", "for a test")
		for range 3 { // everything is looked at again and again
			for i := range 5_000 {
				r.Stopped(set(i))
			}
		}
		wait(time.Minute)
		if sets, spaces := c.of("StatefulSet", ReasonEnded), c.of("Namespace", ReasonEnded); len(sets) != MaxObjects ||
			len(spaces) != 7 {
			t.Errorf("%d Events of objects, %d of namespaces", len(sets), len(spaces))
		}
		if writes := c.answer(nil); writes != MaxObjects+7 {
			t.Errorf("%d writes", writes)
		}
		r.Renewed()
		for i := range 5_000 {
			r.Started(set(i), true)
		}
		wait(time.Minute)
		if sets, spaces := c.of("StatefulSet", ReasonRenewed), c.of("Namespace", ReasonRenewed); len(sets) != MaxObjects ||
			len(spaces) != 7 {
			t.Errorf("%d Events of objects, %d of namespaces", len(sets), len(spaces))
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if len(r.notes) != 0 || r.objects != 0 {
			t.Errorf("%d notes of %d objects are left", len(r.notes), r.objects)
		}
	})
}

// After a restart nobody knows what was told, but the record of an object knows that it was stopped.
func TestWhatAnEarlierProcessStoppedIsToldToRun(t *testing.T) {
	run(t, func(r *Recorder, c *cluster, _ *bytes.Buffer) {
		r.Started(set(0), false)
		for i := range 2 * MaxObjects {
			r.Started(set(i+1), true)
		}
		wait(time.Minute)
		if got := c.of("StatefulSet", ReasonRenewed); len(got) != MaxObjects {
			t.Errorf("%d Events", len(got))
		}
	})
}

// What goes while it is stopped takes no room at the next end of the lease.
func TestTheNextEndBeginsWithoutNotes(t *testing.T) {
	run(t, func(r *Recorder, c *cluster, _ *bytes.Buffer) {
		for n := range 3 {
			r.Began(fmt.Sprint("boot ", n), "for a test")
			for i := range MaxObjects {
				r.Stopped(set(n*MaxObjects + i))
			}
			r.Renewed()
			wait(time.Minute)
		}
		if got := c.of("Namespace", ReasonEnded); len(got) > 0 {
			t.Errorf("there was no room: %v", got)
		}
		if got := c.of("StatefulSet", ReasonEnded); len(got) != 3*MaxObjects {
			t.Errorf("%d Events", len(got))
		}
	})
}

// A cluster forgets Events: they are written again while the lease has ended, and no longer.
func TestEventsAreRepeated(t *testing.T) {
	run(t, func(r *Recorder, c *cluster, _ *bytes.Buffer) {
		r.Began("boot 1", "for a test")
		r.Stopped(set(1))
		wait(2*RepeatEvery + time.Minute)
		if got := c.of("StatefulSet", ReasonEnded); len(got) != 1 || got[0].Count != 3 ||
			got[0].Last.Sub(got[0].First) != 2*RepeatEvery {
			t.Errorf("Events %+v", got)
		}
		r.Renewed()
		wait(2 * RepeatEvery)
		if writes := c.answer(nil); writes != 3 {
			t.Errorf("%d writes", writes)
		}
	})
}

func TestWhatFailsIsWrittenLater(t *testing.T) {
	run(t, func(r *Recorder, c *cluster, _ *bytes.Buffer) {
		c.answer(func() error { return errors.New("nobody answers") })
		r.Began("boot 1", "for a test")
		r.Stopped(set(1))
		r.Stopped(set(2))
		wait(time.Minute)
		c.answer(nil)
		wait(time.Minute)
		if got := c.of("StatefulSet", ReasonEnded); len(got) != 2 {
			t.Errorf("Events %+v", got)
		}
		// What the target will never take is left out.
		c.answer(func() error { return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "ns") })
		r.Stopped(set(3))
		wait(time.Minute)
		if writes := c.answer(nil); writes != 1 {
			t.Errorf("%d writes", writes)
		}
	})
}

// Without the right one try is made at each end of the lease and at each repetition, and it is logged once.
func TestTheRightThatLacksIsLoggedOnce(t *testing.T) {
	run(t, func(r *Recorder, c *cluster, log *bytes.Buffer) {
		c.answer(func() error {
			return &apierrors.StatusError{ErrStatus: metav1.Status{
				Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
			}}
		})
		for n := range 2 {
			r.Began(fmt.Sprint("boot ", n), "for a test")
			for i := range 10 {
				r.Stopped(set(i))
			}
			wait(RepeatEvery / 4)
		}
		if writes := c.answer(nil); writes != 2 || strings.Count(log.String(), "may not write Events") != 1 {
			t.Errorf("%d writes, log %s", writes, log)
		}
		wait(RepeatEvery)
		if got := c.of("StatefulSet", ReasonEnded); len(got) != 10 {
			t.Errorf("with the right there are %d Events", len(got))
		}
	})
}

// A name fits, and is another one for another object, end or reason.
func TestEventNames(t *testing.T) {
	long := set(1)
	long.Name = strings.Repeat("x", maxName)
	other := long
	other.Name = long.Name[:maxName-1] + "y"
	seen := map[string]bool{}
	for _, name := range []string{eventName(long, "a", ReasonEnded), eventName(other, "a", ReasonEnded),
		eventName(long, "b", ReasonEnded), eventName(long, "a", ReasonRenewed)} {
		if len(name) != maxName || seen[name] {
			t.Errorf("name %q", name)
		}
		seen[name] = true
	}
}

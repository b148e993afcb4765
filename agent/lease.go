package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"skerry.dev/skerry/agent/leaseevents"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/boottime"
	"skerry.dev/skerry/tunnel/lease"
)

// leaseName names the value in the agent's file that has the lease: a write of it is durable.
const leaseName = "lease"

// LeaseFile is where an agent keeps, in its data directory, until when its lease lasts. Each renewal
// writes it, without making it durable: it outlives the process, and after a crash of the machine
// it is not read, because that is another boot.
const LeaseFile = "lease.json"

// Leasing is how an agent keeps its lease.
type Leasing struct {
	// RefuseStop: the parent cannot have anything stopped here when the lease ends. The site has the
	// last word, and the parent is told.
	RefuseStop bool
	// Lease is where a relay's lease is published for its own center; nil makes one. LeasesBelow tells
	// whether a target of a relay has not confirmed yet that it stops at the end of a lease of these
	// terms, or refuses that; nil for a site.
	Lease       *lease.Published
	LeasesBelow func(lease.Terms) (pending, refuses bool)
}

// storedLease is what is stored under leaseName. Version is that of the LeaseFile that belongs to it.
type storedLease struct {
	lease.State
	Version int64 `json:"version"`
}

// leaseTime is the content of LeaseFile.
type leaseTime struct {
	Version int64         `json:"version"`
	Boot    string        `json:"boot"`
	Until   time.Duration `json:"until"`
}

// siteLease is the lease of this site. It implements tunnel.LeaseHolder and apply.Lease.
type siteLease struct {
	agent *agent
	now   *lease.Published // what Stops goes by
	wake  chan struct{}    // has run look at the clock; one slot
	// events tell at the site what is stopped.
	events *leaseevents.Recorder

	// mu keeps the session and the clock apart. Files are written under it, so nothing that is
	// applied ever takes it.
	mu      sync.Mutex
	holder  *lease.Holder
	stored  storedLease
	renewed time.Time // by the clock of the day, for people
	// unseen: the lease had ended when the agent began, or has begun to hold again, and run has not
	// looked since. It may see nothing of that end, and what was stopped has to run again.
	unseen bool
}

// openLease goes on with the lease that the site had.
func openLease(a *agent) (*siteLease, error) {
	l := &siteLease{agent: a, now: cmp.Or(a.Leasing.Lease, &lease.Published{}), wake: make(chan struct{}, 1)}
	l.events = leaseevents.New(func() (leaseevents.Writer, error) { return a.clients.For(target.RootSpace) }, a.Log)
	data, err := a.file.Meta(leaseName)
	if err != nil {
		return nil, fmt.Errorf("read the lease of the site: %w", err)
	}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &l.stored); err != nil {
			return nil, fmt.Errorf("read the lease of the site: %w", err)
		}
	}
	var at leaseTime
	if data, err := os.ReadFile(l.path()); err == nil && json.Unmarshal(data, &at) == nil &&
		at.Version == l.stored.Version && at.Boot == l.stored.Boot {
		l.stored.Until = at.Until
	}
	l.holder = lease.Load(l.stored.State, boottime.ID())
	l.holder.Check(boottime.Now())
	l.publishLocked()
	l.unseen = l.ended()
	return l, nil
}

// publishLocked lets Stops see the state.
func (l *siteLease) publishLocked() { l.now.Set(l.holder.State()) }

func (l *siteLease) path() string { return filepath.Join(l.agent.DataDir, LeaseFile) }

// Begin implements tunnel.LeaseHolder.
func (l *siteLease) Begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holder.Begin()
}

// returningPause is how long a site that is to learn what has left it waits until it asks again.
const returningPause = time.Second

// Request implements tunnel.LeaseHolder. What is not durable binds nobody after a restart, so it is
// not said.
func (l *siteLease) Request() (r lease.Request, after time.Duration) {
	pending, refuses := false, l.agent.RefuseStop
	if below := l.agent.LeasesBelow; below != nil {
		l.mu.Lock()
		terms := l.stored.Terms
		l.mu.Unlock()
		pending, refuses = below(terms)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r = l.holder.Request(boottime.Now(), refuses)
	r.Has, r.Pending = l.stored.Terms, pending
	after = r.Has.Renewal()
	if r.Ended {
		after = returningPause
	}
	return r, after
}

// Answered implements tunnel.LeaseHolder.
//
// A relay lacks what it has not written to its own spaces yet: its targets could not learn it there.
func (l *siteLease) Answered(a lease.Answer) (again bool) {
	a.Behind = a.Behind || l.agent.Relay && l.agent.applier.Pending() > 0
	l.mu.Lock()
	before, ended := l.holder.State().Terms, l.ended()
	l.holder.Answered(boottime.Now(), a)
	l.renewed = time.Now()
	l.publishLocked()
	l.unseen = l.unseen || ended && !l.ended()
	l.storeLocked()
	again = before != l.holder.State().Terms
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return again
}

// storeLocked stores the state: what binds durably, and when it ends for this boot.
func (l *siteLease) storeLocked() {
	now := l.holder.State()
	if now.Terms != l.stored.Terms || now.Boot != l.stored.Boot || now.Ended != l.stored.Ended {
		next := storedLease{now, l.stored.Version + 1}
		data, err := json.Marshal(next)
		if err == nil {
			err = l.agent.file.SetMeta(leaseName, data)
		}
		if err != nil {
			l.agent.Log.Warn("the lease of the site could not be stored; the parent does not count on it", "err", err)
			return
		}
		l.stored = next
	}
	if !now.Terms.Fences() {
		return
	}
	data, err := json.Marshal(leaseTime{l.stored.Version, now.Boot, now.Until})
	if err == nil {
		err = replaceFile(l.path(), data)
	}
	if err != nil { // an older time ends the lease earlier
		l.agent.Log.Debug("the end of the lease could not be written", "err", err)
	}
}

func replaceFile(path string, data []byte) error {
	if err := os.WriteFile(path+".new", append(data, '\n'), 0o600); err != nil {
		return errors.Join(err, os.Remove(path+".new"))
	}
	return os.Rename(path+".new", path)
}

// ended reports whether what must not run twice must not run now.
func (l *siteLease) ended() bool { return l.now.Ended(boottime.Now()) }

// endedCount is 1 while the lease has ended.
func (l *siteLease) endedCount() int {
	if l.ended() {
		return 1
	}
	return 0
}

// Stops implements apply.Lease.
func (l *siteLease) Stops(k store.Key, body []byte) (bool, error) {
	if !l.ended() {
		return false, nil
	}
	return l.runsOnce(k, body)
}

// Stopped implements apply.Lease.
func (l *siteLease) Stopped(about target.Involved) { l.events.Stopped(about) }

// Started implements apply.Lease.
func (l *siteLease) Started(about target.Involved, was bool) { l.events.Started(about, was) }

// runsOnce reports whether a workload must not run twice.
func (l *siteLease) runsOnce(k store.Key, body []byte) (bool, error) {
	obj := map[string]any{}
	if err := json.Unmarshal(body, &obj); err != nil {
		return false, fmt.Errorf("read a workload: %w", err)
	}
	w, ok := lease.Read(k, obj)
	if !ok || w.Once {
		return w.Once, nil
	}
	for _, name := range w.Claims {
		claim := store.Key{Space: k.Space, Resource: "persistentvolumeclaims", Namespace: k.Namespace, Name: name}
		e, known, err := l.agent.desired.Get(claim)
		if err != nil {
			return false, fmt.Errorf("read the claim %s of a workload: %w", name, err)
		}
		if !known || e.Tombstone || len(e.Body) == 0 {
			return true, nil // nothing says that it is shared
		}
		obj := map[string]any{}
		if err := json.Unmarshal(e.Body, &obj); err != nil {
			return false, fmt.Errorf("read the claim %s of a workload: %w", name, err)
		}
		if !lease.Shared(obj) {
			return true, nil
		}
	}
	return false, nil
}

// run ends and begins the lease by the clock, until ctx ends. What has to stop, or may run again, is
// looked at each time.
func (l *siteLease) run(ctx context.Context) error {
	was := false
	for {
		l.mu.Lock()
		l.holder.Check(boottime.Now())
		l.publishLocked()
		l.storeLocked() // so that a restart calls this end of the lease the same
		now := l.holder.Ended(boottime.Now())
		next, ends := l.holder.Next(boottime.Now())
		unseen := l.unseen
		l.unseen = false
		l.mu.Unlock()
		if now != was || unseen {
			was = now
			l.tell(now)
			if err := l.lookAgain(); err != nil {
				return err
			}
		}
		if !l.sleep(ctx, next, ends) {
			return nil
		}
	}
}

// leaseLook is how long the clock is not looked at at the most while a lease runs: the timers of a
// process stop while its machine is suspended.
const leaseLook = time.Second

// sleep waits until the lease may have ended or begun. It reports false when ctx ends.
func (l *siteLease) sleep(ctx context.Context, next time.Duration, ends bool) bool {
	var at <-chan time.Time
	if ends {
		timer := time.NewTimer(min(max(next, 0), leaseLook))
		defer timer.Stop()
		at = timer.C
	}
	select {
	case <-at:
	case <-l.wake:
	case <-ctx.Done():
		return false
	}
	return true
}

// lookAgain has everything looked at that may have to stop, or may run again.
func (l *siteLease) lookAgain() error {
	if l.agent.Relay {
		return nil // its sites have leases of their own
	}
	var keys []store.Key
	if err := l.agent.desired.Each(func(e store.Entry) error {
		if !e.Tombstone && lease.MayRunOnce(e.Key.Group, e.Key.Resource) {
			keys = append(keys, e.Key)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("find what must not run twice: %w", err)
	}
	l.agent.applier.Again(keys)
	return nil
}

// tell says that the lease has ended, or that it holds again.
func (l *siteLease) tell(ended bool) {
	l.mu.Lock()
	s, renewed, end := l.holder.State(), l.renewed, fmt.Sprintf("%s %d", l.stored.Boot, l.stored.Version)
	l.mu.Unlock()
	if !ended {
		l.events.Renewed()
		l.agent.Log.Info("the lease of this site holds again; what it had stopped runs again", "duration", s.Terms.Duration)
		l.agent.conditions.Clear(tunnel.LeaseHeld)
		return
	}
	since := "it was restarted, and nothing says for how long it was off"
	if !renewed.IsZero() {
		since = "its parent last renewed it at " + renewed.UTC().Format(time.RFC3339)
	}
	l.events.Began(end, since)
	l.agent.Log.Warn("the lease of this site has ended: what must not run twice is stopped here until the parent is "+
		"heard again", "duration", s.Terms.Duration, "why", since)
	l.agent.conditions.Set(tunnel.Condition{
		Type: tunnel.LeaseHeld, Status: tunnel.False, Reason: "LeaseEnded",
		Message: fmt.Sprintf("the lease of %s has ended: %s. StatefulSets, Jobs and other workloads that must not run "+
			"twice are stopped here (scaled to zero, suspended, Pods deleted) until the parent is heard and nothing that "+
			"it has sent is lacking. Mend the link to the parent; skerry doctor says what is wrong with it",
			s.Terms.Duration, since),
	})
}

package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"skerry.dev/skerry/agent/brake"
	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/sweep"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/work"
)

// cacheFile is everything that the agent knows of desired state and target. It can be lost: what is whole of it is kept, the target is
// swept for what is ours, and the parent gives, or takes, the rest at the next comparison. Until then nothing is touched.
const cacheFile = "agent.db"

// openCache opens the file, or builds it anew when it is corrupt, and the copy in it.
func (a *agent) openCache() error {
	keys, err := sealKeys(a.DataDir)
	if err != nil {
		return err
	}
	file, rebuilt, err := bolt.OpenOrRebuild(filepath.Join(a.DataDir, cacheFile), bolt.Options{Log: a.Log, Keys: keys, OnHealth: a.cache.health.disk})
	if err != nil {
		return fmt.Errorf("open the agent's store: %w", err)
	}
	a.file = file
	changed := func(keys []store.Key) { a.applier.Changed(keys) }
	// What a commit creates is applied while it becomes durable: a crash in between leaves an object that the sweep of the next start finds.
	// What it changes waits, because a copy that has lost the change would set the object back.
	arrived := func(keys []store.Key) { a.observer.Arrived(keys); changed(keys) }
	if a.desired, err = file.Sink("desired", bolt.SinkOptions{OnStart: changed, OnCommit: arrived, KeepRemoved: true,
		Holds: func(k store.Key) bool { _, known := a.inventory.Get(k); return known }}); err != nil {
		return fmt.Errorf("open the desired copy: %w", err)
	}
	if a.inventory, err = inventory.Open(file.Inventory(), a.Log); err != nil {
		return err
	}
	if err := a.begin(); err != nil {
		return err
	}
	a.cache.lost = rebuilt.Aside != ""
	if at, known := a.desired.Position(), a.self.followed(); at.Incarnation.IsZero() && !known.Incarnation.IsZero() {
		a.cache.lost = true
		// Only the parent that this site knows may fill it again without being accepted.
		if err := a.desired.Accept(known); err != nil {
			return fmt.Errorf("begin the copy anew: %w", err)
		}
	}
	if a.cache.lost {
		a.cache.health.refilling(rebuilt)
	} else {
		a.cache.health.refilled()
	}
	return a.claim()
}

// body is the body of an object in the desired copy, nil where there is none.
func (a *agent) body(k store.Key) []byte {
	e, ok, err := a.desired.Get(k)
	if err != nil {
		a.Log.Debug("desired object not read", "key", k, "err", err)
	}
	if !ok || e.Tombstone {
		return nil
	}
	return e.Body
}

// claim puts what the inventory says to be on the target into the copy, if it is not there: a write that a full disk or a crash took from the
// copy alone.
func (a *agent) claim() error {
	var keys []store.Key
	a.inventory.Each(func(k store.Key, _ inventory.Record) { keys = append(keys, k) })
	n, err := a.desired.Found(keys...)
	if n > 0 {
		a.Log.Info("objects on the target are not in the desired copy, the parent is asked for them", "n", n)
	}
	if err != nil {
		a.Log.Warn("objects on the target are not in the desired copy, and that cannot be noted now", "err", err)
	}
	return nil
}

// settle notes at an ordinary end that the file knows everything, so that the next start need not sweep.
func (a *agent) settle() {
	if !a.cache.complete.Load() || len(a.cache.wanted) > 0 {
		return
	}
	a.self.writesTo(a.known.get())
	err := a.inventory.Flush()
	if err == nil {
		err = a.file.Settled()
	}
	if err != nil {
		a.Log.Warn("the store is left as after a crash; the next start looks at the target", "err", err)
	}
}

// watchCache ends the agent when the file turns out to be corrupt while it runs: Run begins again and builds it anew.
func (a *agent) watchCache(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-a.file.Damaged():
		return fmt.Errorf("%s: %w", a.file.Path(), bolt.ErrCorrupt)
	}
}

// marked is the copy that sessions fill. Nothing enters it before it is known what this site is, so that all that is applied carries its mark.
type marked struct {
	*brake.Brake
	named <-chan struct{}
	self  *self
}

// Commit implements store.Sink.
func (m marked) Commit(ctx context.Context, b store.Batch) error {
	select {
	case <-m.named:
		err := m.Brake.Commit(ctx, b)
		if err == nil {
			m.self.follows(m.Position())
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// welcomed takes over what the parent calls this site.
func (a *agent) welcomed(w tunnel.Welcome) {
	if w.Site != "" {
		a.self.welcomed(w.Site, w.Reports)
		a.clients.SetSite(w.Site)
	}
	if a.Above != nil {
		a.Above(append([]store.Incarnation{w.Incarnation}, w.Above...))
	}
	a.observer.SetForm(w.Reports)
	a.cache.name()
}

// Waits of a sweep that could not list all of the target.
const (
	sweepAgain   = 2 * time.Second
	sweepLongest = 5 * time.Minute
)

// sweep finds what is ours on the target when the file may not know it: after an end without a farewell, and whenever the target went back to what it was
// before. swept is closed after the first look.
func (a *agent) sweep(ctx context.Context) error {
	looked := sync.OnceFunc(func() { close(a.cache.swept) })
	if a.file.Unclean() || a.self.replaced() != "" {
		a.self.settled()
		a.cache.sweepAgain()
	} else {
		a.cache.complete.Store(true)
		looked()
	}
	if len(a.self.sites()) == 0 {
		looked() // the mark to look for comes with the first session
	}
	for {
		select {
		case <-a.cache.wanted:
		case <-ctx.Done():
			return nil
		}
		select {
		case <-a.cache.named:
		case <-ctx.Done():
			return nil
		}
		a.sweepAll(ctx, looked)
	}
}

// sweepAll goes on until all of the target was seen. It calls looked after the first look.
func (a *agent) sweepAll(ctx context.Context, looked func()) {
	a.cache.complete.Store(false)
	for wait := sweepAgain; ; wait = min(2*wait, sweepLongest) {
		n, err := a.sweepOnce(ctx)
		if n > 0 {
			a.Log.Info("objects of this site on the target are not in the store; the parent is asked for them", "n", n)
			a.cache.compare()
		}
		if !errors.Is(err, sweep.ErrPartial) {
			a.cache.complete.Store(err == nil)
			looked()
			return // ctx has ended, or the file takes nothing now and says so itself
		}
		if wait > sweepAgain {
			looked()
		}
		if wait == 4*sweepAgain {
			a.Log.Warn("what is on the target is not fully known, still trying", "err", err)
		}
		if !work.Pause(ctx, wait) {
			return
		}
	}
}

// sweepChunk is how many keys are taken into the copy in one transaction.
const sweepChunk = 512

func (a *agent) sweepOnce(ctx context.Context) (found int, err error) {
	var keys, changed []store.Key
	take := func() error {
		n, err := a.desired.Found(keys...)
		found += n
		a.applier.Changed(changed) // those that the copy has with their value
		keys, changed = keys[:0], changed[:0]
		return err
	}
	err = sweep.Run(ctx, sweep.Config{Clients: a.clients, Sites: a.self.sites(), Log: a.Log,
		Found: func(k store.Key, r inventory.Record) error {
			if a.inventory.PutNew(k, r) {
				changed = append(changed, k)
			}
			if keys = append(keys, k); len(keys) < sweepChunk {
				return nil
			}
			return take()
		}})
	return found, errors.Join(err, take())
}

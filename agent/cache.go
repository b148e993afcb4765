package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"skerry.dev/skerry/agent/deletionguard"
	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/recovery"
	"skerry.dev/skerry/agent/variants"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/ondemand"
)

// cacheFile has everything that the agent knows of desired state and target. It may be lost. Its
// intact entries are kept, the target is searched for this site's objects, and the next comparison
// with the parent restores the rest. Until then nothing is touched.
const cacheFile = "agent.db"

// compareTime bounds how long the first session waits for objects that a crash left without a
// record to be looked up.
const compareTime = 10 * time.Second

// openCache opens the file, or rebuilds it when it is corrupt, and opens the copy in it.
func (a *agent) openCache() error {
	keys, err := sealKeys(a.DataDir)
	if err != nil {
		return err
	}
	file, rebuilt, err := bolt.OpenOrRebuild(
		filepath.Join(a.DataDir, cacheFile),
		bolt.Options{Log: a.Log, Keys: keys, OnHealth: a.diskTakes},
	)
	if err != nil {
		return fmt.Errorf("open the agent's store: %w", err)
	}
	a.file = file
	changed := func(keys []store.Key) { a.applier.Changed(keys) }
	// What a commit creates is applied while it becomes durable: a crash in between leaves an
	// object that the search of the next start finds. What it changes waits, because a copy that
	// has lost the change would set the object back.
	arrived := func(keys []store.Key) { a.upsyncsArrived(keys); a.observer.Arrived(keys); changed(keys) }
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
	if at, known := a.desired.Position(), a.identity.followed(); at.Incarnation.IsZero() &&
		!known.Incarnation.IsZero() {
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

// body returns the body of an object in the desired copy, nil if there is none.
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

// claim puts what the inventory has into the copy, if it is missing there. A full disk or a crash
// may have taken a write from the copy alone.
func (a *agent) claim() error {
	var keys []store.Key
	a.inventory.Each(func(k store.Key, _ inventory.Record) { keys = append(keys, k) })
	rules, err := variants.Kept(a.file)
	if err != nil {
		a.Log.Warn("which Customizers there are is not known; the parent tells it again", "err", err)
	}
	keys = append(keys, rules...)
	n, err := a.desired.AddUnknown(keys...)
	if n > 0 {
		a.Log.Info("objects on the target are not in the desired copy, the parent is asked for them", "n", n)
	}
	if err != nil {
		a.Log.Warn("objects on the target are not in the desired copy, and that cannot be noted now", "err", err)
	}
	return nil
}

// markCleanShutdown records at an ordinary end that the file is complete, so that the next start
// need not search the target.
func (a *agent) markCleanShutdown() {
	if !a.cache.complete.Load() || len(a.cache.wanted) > 0 {
		return
	}
	a.identity.writesTo(a.known.get())
	err := a.inventory.Flush()
	if err == nil {
		err = a.file.MarkCleanShutdown()
	}
	if err != nil {
		a.Log.Warn("the store is left as after a crash; the next start looks at the target", "err", err)
	}
}

// watchCache ends the agent when the file turns out to be corrupt while it runs. Run then begins
// again and rebuilds it.
func (a *agent) watchCache(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-a.file.Damaged():
		return fmt.Errorf("%s: %w", a.file.Path(), bolt.ErrCorrupt)
	}
}

// marked is the copy that sessions fill. Nothing enters it before the site's UID is known, so that
// everything that is applied carries the site's label.
type marked struct {
	*deletionguard.Guard
	named <-chan struct{}
	self  *siteIdentity
}

// Commit implements store.Sink.
func (m marked) Commit(ctx context.Context, b store.Batch) error {
	select {
	case <-m.named:
		err := m.Guard.Commit(ctx, b)
		if err == nil {
			m.self.follows(m.Position())
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// welcomed records the site's UID at its parent, and what the parent reads.
func (a *agent) welcomed(w tunnel.Welcome) {
	if w.Site != "" {
		a.identity.welcomed(w.Site, w.Reports)
		a.identity.meets(w.Incarnation)
		if a.identity.named(w.Name, w.Formerly) {
			a.Log.Info("the center calls this site by another name now", "name", w.Name, "formerly", w.Formerly)
		}
		a.clients.SetSite(w.Site)
	}
	if a.Above != nil {
		a.Above(append([]store.Incarnation{w.Incarnation}, w.Above...))
	}
	a.observer.SetForm(w.Reports)
	a.cache.name()
}

// Waits after a search that could not list all of the target.
const (
	sweepAgain   = 2 * time.Second
	sweepLongest = 5 * time.Minute
)

// recover searches the target for this site's objects when the file may not know them: after an
// unclean end, and whenever the target was restored. It closes swept after the first search.
func (a *agent) recover(ctx context.Context) error {
	looked := sync.OnceFunc(func() { close(a.cache.swept) })
	if a.file.Unclean() || a.identity.replaced() != "" {
		a.identity.settled()
		a.cache.sweepAgain()
	} else {
		a.cache.complete.Store(true)
		looked()
	}
	if len(a.identity.sites()) == 0 {
		looked() // the label to select by comes with the first session
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
		a.recoverAll(ctx, looked)
	}
}

// recoverAll repeats the search until all of the target was seen. It calls looked after the first
// try.
func (a *agent) recoverAll(ctx context.Context, looked func()) {
	a.cache.complete.Store(false)
	for wait := sweepAgain; ; wait = min(2*wait, sweepLongest) {
		n, err := a.recoverOnce(ctx)
		if n > 0 {
			a.Log.Info("objects of this site on the target are not in the store; the parent is asked for them", "n", n)
			a.cache.compare()
		}
		if !errors.Is(err, recovery.ErrPartial) {
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
		if !ondemand.Pause(ctx, wait) {
			return
		}
	}
}

// sweepChunk is how many keys enter the copy in one transaction.
const sweepChunk = 512

func (a *agent) recoverOnce(ctx context.Context) (found int, err error) {
	var keys, changed []store.Key
	take := func() error {
		n, err := a.desired.AddUnknown(keys...)
		found += n
		a.applier.Changed(changed) // those that the copy has with their value
		keys, changed = keys[:0], changed[:0]
		return err
	}
	err = recovery.Run(ctx, recovery.Config{Clients: a.clients, Sites: a.identity.sites(), Log: a.Log,
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

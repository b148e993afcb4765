package bolt

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
)

// view runs do in a snapshot of the file.
func (f *File) view(do func(*bbolt.Tx) error) error {
	f.swap.RLock()
	defer f.swap.RUnlock()
	return f.recordDamage(guard(func() error { return f.db.View(do) }))
}

// still runs do in a snapshot of the file while nobody writes: the free list, which a look at all pages is compared
// with, is always that of now.
func (f *File) still(do func(*bbolt.Tx) error) error {
	if f.readOnly {
		return f.view(do)
	}
	f.swap.RLock()
	defer f.swap.RUnlock()
	return f.recordDamage(guard(func() error {
		tx, err := f.db.Begin(true)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // nothing was written
		return do(tx)
	}))
}

// update runs do in a transaction that is durable when it returns, and counts what that cost. An
// error of the disk is a *diskError.
func (f *File) update(do func(*bbolt.Tx) error) error {
	err := f.transact(do)
	if !errors.Is(err, ErrReadOnly) { // the owner was told so when the file was opened
		f.health.tell(err)
	}
	return f.recordDamage(err)
}

// transact is update that tells nobody how it ended.
func (f *File) transact(do func(*bbolt.Tx) error) error {
	f.swap.RLock()
	defer f.swap.RUnlock()
	if f.readOnly {
		return f.refused(ErrReadOnly)
	}
	var stats bbolt.TxStats
	pageSize := 0
	done := false // do has ended well: what fails after that is the disk
	err := guard(func() error {
		return f.db.Update(func(tx *bbolt.Tx) error {
			// only a transaction may ask: without one the file may be mapped anew meanwhile
			pageSize = tx.DB().Info().PageSize
			tx.OnCommit(func() { stats = tx.Stats() })
			err := do(tx)
			if err == nil {
				err = f.writePiggybacked(tx)
			}
			done = err == nil
			return err
		})
	})
	switch {
	case err == nil:
		f.cost.add(stats, pageSize)
		f.dirty.Store(true)
	case done && !errors.Is(err, ErrCorrupt) || errors.Is(err, syscall.ENOSPC):
		err = f.refused(err)
	}
	return err
}

// Turn waits until a write could begin, and writes nothing. It does not return while another
// transaction is stuck.
func (f *File) Turn() error {
	f.swap.RLock()
	defer f.swap.RUnlock()
	if f.readOnly {
		return nil
	}
	tx, err := f.db.Begin(true)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	return tx.Rollback()
}

// write is updateTogether that waits while the disk refuses a write: it tries again until ctx ends
// or the file is closed. A try that failed has written nothing.
func (f *File) write(ctx context.Context, do func(*bbolt.Tx) error) error {
	waits := false
	for wait := firstTry; ; wait = min(2*wait, longestTry) {
		err := f.updateTogether(do)
		var disk *diskError
		if refused := errors.As(err, &disk); refused != waits {
			waits = refused
			f.health.wait(refused, err)
		}
		if !waits {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			f.health.wait(false, err)
			return err
		case <-f.closing:
			timer.Stop()
			f.health.wait(false, err)
			return err
		case <-timer.C:
		}
	}
}

// Waits between the tries of a write that the disk refuses.
const (
	firstTry   = 250 * time.Millisecond
	longestTry = 10 * time.Second
)

// diskError is a write to a file that the disk refused: it may take the next one.
type diskError struct {
	path string
	err  error
}

// refused returns the error of a write that the disk refused.
func (f *File) refused(err error) error { return &diskError{f.path, err} }

// Error names the file, the cause and what to do.
func (d *diskError) Error() string {
	advice := ""
	switch text := d.err.Error(); {
	case errors.Is(d.err, ErrReadOnly):
	case errors.Is(d.err, syscall.ENOSPC), strings.Contains(text, "no space left"):
		advice = "; the disk is full: make space, it goes on by itself"
	case errors.Is(d.err, syscall.EDQUOT), strings.Contains(text, "quota exceeded"):
		advice = "; the quota of the disk is used up: raise it or make space, it goes on by itself"
	case errors.Is(d.err, syscall.EROFS), strings.Contains(text, "read-only file system"):
		advice = "; the file system has become read-only, as it does when the disk fails: see " +
			"dmesg, then mount it for writing and start again"
	case errors.Is(d.err, syscall.EIO), strings.Contains(text, "input/output error"):
		advice = "; the disk fails: see dmesg, and move the data directory to another disk"
	}
	return "write " + d.path + ": " + d.err.Error() + advice
}

func (d *diskError) Unwrap() error { return d.err }

// health calls the owner of the file when the disk stops taking writes, with the reason, and when
// it takes them again. It calls without its lock, one call at a time, in the order of the changes.
// While a call goes on, only the latest change is kept for the next one.
type health struct {
	told func(error) // set once, before the first tell

	mu      sync.Mutex
	err     error // of the last write
	said    string
	telling bool // a goroutine is in tell's loop
	waiting int  // writes that the disk has refused and that are tried again
}

// wait notes that a write was refused and is tried again, or that it is not any more: it ended with an
// error or none. The disk is not well before, even if it takes a smaller write meanwhile.
func (h *health) wait(refused bool, err error) {
	h.mu.Lock()
	if refused {
		h.waiting++
	} else {
		h.waiting--
	}
	h.mu.Unlock()
	h.tell(err)
}

func (h *health) tell(err error) {
	var disk *diskError
	if h.told == nil || err != nil && !errors.As(err, &disk) {
		return
	}
	h.mu.Lock()
	if err == nil && h.waiting > 0 {
		h.mu.Unlock()
		return
	}
	h.err = err
	if h.telling { // that goroutine looks again after its call
		h.mu.Unlock()
		return
	}
	for textOf(h.err) != h.said {
		err := h.err
		h.said, h.telling = textOf(err), true
		h.mu.Unlock()
		h.told(err)
		h.mu.Lock()
		h.telling = false
	}
	h.mu.Unlock()
}

// textOf returns the text of an error, empty for none.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Cost is what writing the file has cost so far.
type Cost struct {
	// Syncs is how often the disk was told to make something durable; each transaction does it
	// twice.
	Syncs int64
	// Bytes is what was written, in whole pages.
	Bytes int64
}

type cost struct{ syncs, bytes atomic.Int64 }

func (c *cost) add(s bbolt.TxStats, pageSize int) {
	c.syncs.Add(2)
	c.bytes.Add(s.GetPageAlloc() + int64(pageSize)) // and the meta page
}

// Cost returns what writing has cost since the file was opened.
func (f *File) Cost() Cost { return Cost{Syncs: f.cost.syncs.Load(), Bytes: f.cost.bytes.Load()} }

// recordDamage closes Damaged at the first sign of damage.
func (f *File) recordDamage(err error) error {
	if errors.Is(err, ErrCorrupt) {
		f.damagedOnce.Do(func() { close(f.damaged) })
	}
	return err
}

// Damaged is closed once anything that was read or written showed that the file is corrupt. Close
// it then, and see SetAside.
func (f *File) Damaged() <-chan struct{} { return f.damaged }

// guard turns the panics and page faults of bbolt on a damaged file into ErrCorrupt.
func guard(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrCorrupt, p)
		}
	}()
	return do()
}

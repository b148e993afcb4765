package bolt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"
)

// A file of at least compactBytes, of which more than half are free pages, is rewritten: it is
// bounded by twice what it holds, and what it maps stays in RSS.
const (
	compactBytes = 4 << 20
	copyTxBytes  = 1 << 20
)

// maintainPeriod is how often Maintain looks at a file that was written meanwhile.
const maintainPeriod = time.Minute

// Maintain maintains the file until ctx ends. It compacts the file when most of it is free, and
// replaces the seal key when that is old or when something that it sealed was removed. While
// nothing is written, it writes nothing.
func (f *File) Maintain(ctx context.Context) error {
	ticker := time.NewTicker(maintainPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := f.maintain(); err != nil {
				f.log.Warn("the store file is not maintained; trying again", "path", f.path, "err",
					err)
			}
		}
	}
}

func (f *File) maintain() error {
	due, err := f.RotationDue()
	if err == nil && due {
		err = f.RotateKeys()
	}
	if err != nil || !f.dirty.Swap(false) || f.readOnly {
		return err
	}
	return f.compact()
}

// compact rewrites the file when most of it is free. Readers and writers wait meanwhile: some 10 ms
// for each MiB that is kept.
func (f *File) compact() error {
	if f.readOnly {
		return nil
	}
	var size, free int64
	err := f.view(func(tx *bbolt.Tx) error {
		size = tx.Size()
		stats := tx.DB().Stats()
		free = int64(stats.FreePageN+stats.PendingPageN) * int64(tx.DB().Info().PageSize)
		return nil
	})
	if err != nil || size < compactBytes || free < size/2 {
		return err
	}
	f.swap.Lock()
	defer f.swap.Unlock()
	next, err := f.copied()
	if err != nil {
		return fmt.Errorf("compact: %w", errors.Join(err, os.Remove(f.path+".compact")))
	}
	// The copy is open, so locked, before it gets the name; a crash leaves a whole file under the
	// name at any moment.
	if err := os.Rename(f.path+".compact", f.path); err != nil {
		return fmt.Errorf("compact: %w", errors.Join(err, next.Close()))
	}
	old := f.db
	f.db = next
	if err := errors.Join(old.Close(), syncDir(filepath.Dir(f.path))); err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	f.log.Info("store file compacted", "path", f.path, "before", size, "free", free)
	return nil
}

// copied returns an open copy of the file without free pages, at path.compact.
func (f *File) copied() (*bbolt.DB, error) {
	path := f.path + ".compact"
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	to, err := openBolt(path, false, f.options.MaxBytes)
	if err != nil {
		return nil, err
	}
	to.NoSync = true // once in the end is enough
	err = guard(func() error { return bbolt.Compact(to, f.db, copyTxBytes) })
	if err == nil {
		err = to.Sync()
	}
	to.NoSync = false
	if err != nil {
		return nil, errors.Join(err, to.Close())
	}
	return to, nil
}

package bolt

import (
	"fmt"
	"os"

	"go.etcd.io/bbolt"
)

// A file of at least compactBytes, of which more than half are free pages, is rewritten on open: what it maps stays in RSS.
const (
	compactBytes = 4 << 20
	copyTxBytes  = 1 << 20
)

func (f *File) compact() error {
	var size, free int64
	err := f.db.View(func(tx *bbolt.Tx) error {
		size = tx.Size()
		free = int64(tx.DB().Stats().FreePageN) * int64(tx.DB().Info().PageSize)
		return nil
	})
	if err != nil || size < compactBytes || free < size/2 {
		return err
	}
	next := f.path + ".compact"
	if err := os.Remove(next); err != nil && !os.IsNotExist(err) {
		return err
	}
	to, err := bbolt.Open(next, 0o600, &bbolt.Options{Timeout: lockTimeout, FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	err = bbolt.Compact(to, f.db, copyTxBytes)
	if closed := to.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	// The rename happens under the lock of the old file; a crash between the two leaves a whole file under either name.
	if err := os.Rename(next, f.path); err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	if err := f.db.Close(); err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	f.log.Info("store file compacted", "path", f.path, "before", size, "free", free)
	return f.openDB()
}

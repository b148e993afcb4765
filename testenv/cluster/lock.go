package cluster

import (
	"context"
	"path/filepath"

	"skerry.dev/skerry/testenv/filelock"
)

// lock takes a lock of the state directory by name.
func (s State) lock(ctx context.Context, name string) (*filelock.Lock, error) {
	return filelock.Acquire(ctx, s.lockFile(name))
}

func (s State) lockFile(name string) string { return filepath.Join(s.dir, name+".lock") }

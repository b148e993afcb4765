//go:build unix

package bolt

import (
	"os"
	"syscall"
)

// unlock lets go of the lock that bbolt took.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

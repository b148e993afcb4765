package kine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// The bytes that SQLite locks, of its file format: in the database those of a writer that needs no
// log, in the file of the log's index those of who writes, checkpoints or recovers.
const (
	fileLocks, fileLocksLength = 0x40000000, 512
	logLocks, logLocksLength   = 120, 3
)

// LockHolder reports whether a process keeps others from writing the database in dir now, and returns
// its ID, which is 0 for one that this process cannot see. It opens no database, and so changes
// nothing.
func LockHolder(dir string) (pid int, held bool, err error) {
	path := filepath.Join(dir, FileName)
	for _, at := range []struct {
		path          string
		start, length int64
	}{{path, fileLocks, fileLocksLength}, {path + "-shm", logLocks, logLocksLength}} {
		if pid, held, err = writeLock(at.path, at.start, at.length); held || err != nil {
			return pid, held, err
		}
	}
	return 0, false, nil
}

// writeLock looks for a lock for writing on bytes of a file.
func writeLock(path string, start, length int64) (pid int, held bool, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	} else if err != nil {
		return 0, false, err
	}
	defer f.Close()
	lock := unix.Flock_t{Type: unix.F_RDLCK, Start: start, Len: length}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock); err != nil {
		return 0, false, err
	}
	return max(0, int(lock.Pid)), lock.Type != unix.F_UNLCK, nil
}

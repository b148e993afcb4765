package keyfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Lock has one process at a time use the file path; it waits for its turn. The lock is a file of
// its own, path with .lock behind it, which stays. The kernel ends the lock with the process.
func Lock(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

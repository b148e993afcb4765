package kine

import "syscall"

// Free returns how many bytes may still be written to the disk that a directory is on; it is false
// where that is not known.
func Free(dir string) (bytes int64, ok bool) {
	var disk syscall.Statfs_t
	if dir == "" || syscall.Statfs(dir, &disk) != nil {
		return 0, false
	}
	return int64(disk.Bavail) * int64(disk.Bsize), true
}

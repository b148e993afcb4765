package bolt

import "syscall"

// dropPages takes a mapping of a file, which is only read from, out of the process.
func dropPages(start, size uintptr) {
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, start, size, syscall.MADV_DONTNEED)
}

//go:build !linux

package bolt

// dropPages does nothing where the system has no way to ask for it.
func dropPages(uintptr, uintptr) {}

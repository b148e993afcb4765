package storetest

import (
	"os"
	"syscall"
	"testing"
)

// SmallDisk returns a directory that is a file system of its own of this size (such as 4m), until
// the test ends. Without root, and where such a file system cannot be mounted, the test is skipped.
func SmallDisk(t *testing.T, size string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a small file system needs root")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

package scenarios

import (
	"os"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// smallDisk is the script command smalldisk: a directory that is a file system of its own, in
// memory, until the script ends. It needs root.
func smallDisk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: smalldisk DIRECTORY SIZE")
	}
	if os.Geteuid() != 0 {
		ts.Value(testKey{}).(testscript.T).Skip("a small file system needs root")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=700,size="+args[1]))
	// A process that still has a file there keeps it until it ends.
	ts.Defer(func() { ts.Check(syscall.Unmount(dir, syscall.MNT_DETACH)) })
}

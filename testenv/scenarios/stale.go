package scenarios

import (
	"os"
	"path/filepath"
	"testing"

	"skerry.dev/skerry/testenv/filelock"
)

const (
	// statePrefix begins the names of the runs' state directories.
	statePrefix = "skerry-scenarios-"
	// ownerFile, in a state directory, is locked as long as its run lives.
	ownerFile = "owner.lock"
)

// removeStale takes down the clusters of runs that were killed before they
// could do it themselves.
func removeStale(t *testing.T, testenv string) {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), statePrefix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		owner := filepath.Join(dir, ownerFile)
		if _, err := os.Stat(owner); err != nil {
			continue // it is being made, or another user's
		}
		if held, err := filelock.Held(owner); held || err != nil {
			continue
		}
		t.Logf("an earlier run was killed: removing %s", dir)
		if err := newSharedClusters(testenv, dir).down(); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
)

func TestOneCenterForEachDataDirectory(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = lock(dir)
	if !errors.Is(err, ErrDataDirInUse) || !strings.Contains(err.Error(), fmt.Sprintf("process %d (", os.Getpid())) {
		t.Errorf("the second lock: %v", err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	unlock, err = lock(dir)
	if err != nil {
		t.Fatalf("after the first is gone: %v", err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
}

// Another user's data directory comes with what to do about it.
func TestDataDirectoryOfAnotherUser(t *testing.T) {
	err := notLocked("/data", &fs.PathError{Op: "open", Path: "/data/lock", Err: fs.ErrPermission})
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "the user that owns /data") {
		t.Errorf("%v", err)
	}
}

package server

import (
	"errors"
	"testing"
)

func TestOneCenterForEachDataDirectory(t *testing.T) {
	dir := t.TempDir()
	unlock, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(dir); !errors.Is(err, ErrDataDirInUse) {
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

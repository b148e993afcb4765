package artifact

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestHashSeparatesItsParts(t *testing.T) {
	if hash("ab", "c") == hash("a", "bc") || hash("a") == hash("a", "") {
		t.Error("two lists have one hash")
	}
}

func TestKeyFollowsTheSources(t *testing.T) {
	dir := t.TempDir()
	m := module{name: "m", ldflags: "-s", packages: map[string]string{"m": "."}}
	keys := map[string]string{}
	check := func(what string, differs bool) {
		t.Helper()
		key, err := m.key(dir)
		if err != nil {
			t.Fatal(err)
		}
		before, seen := keys[key]
		if seen == differs {
			t.Errorf("%s: key %s, seen before with %q", what, key, before)
		}
		keys[key] = what
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("main.go", "package main")
	check("at first", true)
	check("nothing changed", false)
	write("main_test.go", "package main")
	check("a test was added", false)
	write("go.sum", "x")
	check("a dependency changed", true)
	m.ldflags = "-w"
	check("flags changed", true)
}

func TestEntryIsMadeOnceAndWhole(t *testing.T) {
	s := store{dir: t.TempDir(), log: io.Discard}
	failed := errors.New("failed")
	_, err := s.entry(context.Background(), "thing", "k1", func(into string) error {
		return errors.Join(os.WriteFile(filepath.Join(into, "half"), nil, 0o600), failed)
	})
	if !errors.Is(err, failed) {
		t.Fatalf("got %v", err)
	}
	if exists(filepath.Join(s.dir, "thing", "k1")) {
		t.Error("a failed build left an entry")
	}
	made := 0
	for range 2 {
		dir, err := s.entry(context.Background(), "thing", "k1", func(into string) error {
			made++
			return os.WriteFile(filepath.Join(into, "whole"), nil, 0o600)
		})
		if err != nil || !exists(filepath.Join(dir, "whole")) || exists(filepath.Join(dir, "half")) {
			t.Errorf("entry %s: %v", dir, err)
		}
	}
	if made != 1 {
		t.Errorf("made %d times", made)
	}
}

func TestPruneKeepsTheNewest(t *testing.T) {
	dir := t.TempDir()
	for i := range kept + 2 {
		version := filepath.Join(dir, string(rune('a'+i)))
		when := time.Now().Add(time.Duration(i) * time.Minute)
		if err := errors.Join(os.Mkdir(version, 0o755), os.Chtimes(version, when, when)); err != nil {
			t.Fatal(err)
		}
	}
	if err := prune(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != kept || entries[0].Name() != "c" {
		t.Errorf("left %v, %v", entries, err)
	}
}

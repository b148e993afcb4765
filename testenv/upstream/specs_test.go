package upstream

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"skerry.dev/skerry/testenv/drive"
)

// TestRoundsAreCountedApart: each round of specs counts its own results, and each space of a round
// has a log of its own.
func TestRoundsAreCountedApart(t *testing.T) {
	dir := t.TempDir()
	program := func(name, script string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	program("ginkgo", `sed 's/.*/{"spec":"&","state":"passed"}/' "$SKERRY_CONFORMANCE_SPECS" >>"$SKERRY_CONFORMANCE_RESULTS"`)
	if err := os.WriteFile(filepath.Join(dir, "specs.yaml"),
		[]byte("run: [one, two, three]\nwithSite: [four]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	logs := filepath.Join(dir, "logs")
	if err := os.Mkdir(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	r := &run{Options: Options{Built: dir, Lists: dir, Procs: 1, Log: &said}, logs: logs,
		center: &drive.Center{Process: &drive.Process{Name: "center"}},
		Site:   drive.Site{Skerry: program("skerry", "exit 0"), Dir: dir}}
	for _, spaces := range []int{1, 3} {
		if err := r.specs(t.Context(), spaces); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.specsOnSite(t.Context()); err != nil {
		t.Fatal(err)
	}
	var rounds [][]int
	for _, round := range r.rounds {
		rounds = append(rounds, round.Passed)
		if !round.complete() {
			t.Errorf("%+v", round)
		}
	}
	if !slices.EqualFunc(rounds, [][]int{{3}, {3, 3, 3}, {1}}, slices.Equal) {
		t.Errorf("passed %v", rounds)
	}
	if lines := strings.Count(said.String(), " passed "); lines != 3+9+1 ||
		strings.Count(said.String(), "  1/1 passed ") != 1 {
		t.Errorf("%d lines:\n%s", lines, said.String())
	}
	if kept, err := os.ReadDir(logs); err != nil || len(kept) != 5 {
		t.Errorf("logs %v, %v", kept, err)
	}
}

package upstream

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestRound(t *testing.T) {
	r := &Round{Declared: 3}
	r.add("s", []string{"a", "b", "c"}, []Result{{Test: "a", State: passed}, {Test: "b", State: "skipped"},
		{Test: "x", State: passed}})
	if !slices.Equal(r.Passed, []int{1}) || len(r.NotPassed) != 2 || r.NotPassed[1].State != "no result" || r.complete() {
		t.Errorf("%+v", r)
	}
	all := &Round{Declared: 1, Passed: []int{1, 1}}
	if !all.complete() {
		t.Error("what has all passed is not complete")
	}
}

// TestFollow: lines come as they are written, also one that is written in two parts, and the last
// ones after the end.
func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, done := make(chan string, 3), make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() { done <- follow(ctx, path, func(r Result) { got <- r.Test }) }()
	for i, part := range []string{`{"spec":"one"}` + "\n" + `{"sp`, `ec":"two"}` + "\n"} {
		if _, err := f.WriteString(part); err != nil {
			t.Fatal(err)
		}
		if name, want := <-got, []string{"one", "two"}[i]; name != want {
			t.Errorf("result %d is %s", i, name)
		}
	}
	if _, err := f.WriteString(`{"spec":"three"}` + "\n"); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if name := <-got; name != "three" {
		t.Errorf("last %s", name)
	}
}

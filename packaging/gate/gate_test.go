package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rerunning stands in for gotestsum: it writes the events of a run, and of one more where $RERUN says
// what of it runs again.
const rerunning = `#!/bin/sh
events=$2 packages=$4
while [ "$1" != -- ]; do shift; done
shift
go test -json "$@" $packages >"$events" && exit 0
[ -n "$RERUN" ] || exit 1
go test -json "$@" -run "$RERUN" $packages >>"$events"
`

// TestGate runs packages with faults.
func TestGate(t *testing.T) {
	const flaky = module + "packaging/gate/testdata/flaky."
	own := []string{"packaging/gate/testdata/flaky/flaky_test.go"}
	for name, test := range map[string]struct {
		pkg     string
		rerun   string
		scripts bool
		args    []string
		changed []string
		plan    map[string]string // of package flaky, 1 is a failure
		want    string            // empty if it passes
		told    string
	}{
		"data race": {pkg: "race", args: []string{"-race"}, rerun: "TestRace", want: "testdata/race: data race"},
		// gotestsum runs a package without a failed test again as this, which passes.
		"leak":            {pkg: "leak", rerun: "^$", want: "testdata/leak: leaked goroutine"},
		"panic":           {pkg: "panics", rerun: "^$", want: "testdata/panics: panic"},
		"exit":            {pkg: "exits", rerun: "^$", want: "testdata/exits: TestExits did not end"},
		"no failed test":  {pkg: "exits", rerun: "^$", want: "testdata/exits: failed without a failed test"},
		"time-out":        {pkg: "hangs", rerun: "^$", args: []string{"-timeout=1s"}, want: "testdata/hangs: time-out"},
		"does not build":  {pkg: "broken", rerun: "^$", want: "testdata/broken: does not compile"},
		"nothing failed":  {pkg: "flaky"},
		"flake elsewhere": {pkg: "flaky", rerun: "TestA", plan: map[string]string{"TestA": "1"}, told: flaky + "TestA"},
		"fails twice": {pkg: "flaky", rerun: "TestA", plan: map[string]string{"TestA": "11"},
			want: flaky + "TestA: failed and did not pass again"},
		"does not run again": {pkg: "flaky", plan: map[string]string{"TestA": "1"},
			want: flaky + "TestA: failed and did not pass again"},
		"three flakes": {pkg: "flaky", rerun: "Test[A-C]", plan: map[string]string{"TestA": "1", "TestB": "1", "TestC": "1"},
			told: flaky + "TestC"},
		"four flakes": {pkg: "flaky", rerun: "Test", want: "4 flakes, more than 3",
			plan: map[string]string{"TestA": "1", "TestB": "1", "TestC": "1", "TestD": "1"}},
		"touched flake": {pkg: "flaky", rerun: "TestA", changed: own, plan: map[string]string{"TestA": "1000000"},
			told: flaky + "TestA"},
		"touched flake, 4 of 5": {pkg: "flaky", rerun: "TestA", changed: own, plan: map[string]string{"TestA": "1000001"},
			want: flaky + "TestA: a flake in what the change touches"},
		"script fails twice": {pkg: "flaky", scripts: true, rerun: "TestScripts/script/one",
			plan: map[string]string{"TestScripts/script/one": "11"},
			want: flaky + "TestScripts/script/one: failed and did not pass again"},
		"one of two scripts runs again": {pkg: "flaky", scripts: true, rerun: "TestScripts/script/one",
			plan: map[string]string{"TestScripts/script/one": "1", "TestScripts/script/two": "1"},
			want: flaky + "TestScripts/script/two: failed and did not pass again"},
		"flaky script": {pkg: "flaky", scripts: true, rerun: "TestScripts/script/one",
			plan: map[string]string{"TestScripts/script/one": "1"}, told: flaky + "TestScripts/script/one"},
		"touched script, 4 of 5": {pkg: "flaky", scripts: true, rerun: "TestScripts/script/one",
			changed: []string{"testenv/testdata/script/one.txt"},
			plan:    map[string]string{"TestScripts/script/one": "1000001"},
			want:    flaky + "TestScripts/script/one: a flake in what the change touches"},
		"subtest": {pkg: "flaky", rerun: "TestScripts", plan: map[string]string{"TestScripts/script/one": "1"},
			told: flaky + "TestScripts\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for test, plan := range test.plan {
				write(t, filepath.Join(dir, test), plan)
			}
			gotestsum := filepath.Join(dir, "gotestsum")
			write(t, gotestsum, rerunning)
			t.Setenv("FLAKY", dir)
			t.Setenv("RERUN", test.rerun)
			t.Setenv("CGO_ENABLED", "0")
			if len(test.args) > 0 && test.args[0] == "-race" {
				t.Setenv("CGO_ENABLED", "1")
			}
			o := options{gotestsum: gotestsum, root: !test.scripts, changed: test.changed,
				packages: "./testdata/" + test.pkg, flakes: filepath.Join(dir, "flakes"),
				args: append(test.args, "-vet=off", "-count=1")}
			var out bytes.Buffer
			err := o.run(&out)
			if (err != nil) != (test.want != "") || !strings.Contains(out.String(), test.want) {
				t.Errorf("got %v, want %q, and it said\n%s", err, test.want, &out)
			}
			if test.changed != nil && !strings.Contains(out.String(), "runs 5 times alone") {
				t.Errorf("it does not run alone\n%s", &out)
			}
			if test.told == "" && test.want == "" && strings.Contains(out.String(), "FLAKY") {
				t.Errorf("it tells a flake\n%s", &out)
			}
			if test.told != "" && (!strings.Contains(out.String(), "FLAKY "+test.told) ||
				!strings.Contains(out.String(), "failed as planned")) {
				t.Errorf("it does not tell of %s\n%s", test.told, &out)
			}
			kept, _ := os.ReadFile(filepath.Join(dir, "flakes"))
			if test.told != "" && !strings.HasPrefix(string(kept), module+"packaging/gate/testdata/"+test.pkg+" ^Test") {
				t.Errorf("it keeps %q of %s", kept, test.told)
			}
		})
	}
}

// TestTruncated is about a stream that ends too early.
func TestTruncated(t *testing.T) {
	v, err := judge(strings.NewReader(`{"Action":"start","Package":"p"}`+"\n"), true)
	if err != nil || len(v.refused) != 1 || v.refused[0] != "p: did not end" {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := judge(strings.NewReader(`{"Action":`), true); err == nil {
		t.Error("half a line is taken")
	}
}

func TestTouched(t *testing.T) {
	f := flake{pkg: module + "store/kine", test: "TestOrder"}
	for file, want := range map[string]bool{
		"store/kine/kine.go": true, "store/kine/testdata/a/b.txt": true, "store/kine/sub/a.go": false, "store/a.go": false,
		"testenv/testdata/script/TestOrder.txt": false, "Makefile": false,
	} {
		if got := f.touched([]string{file}); got != want {
			t.Errorf("%s touches %s: %v", file, f.pkg, got)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

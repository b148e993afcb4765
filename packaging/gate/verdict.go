package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// maxFlakes is how many tests may fail once in a run.
const maxFlakes = 3

// event is one line of `go test -json`.
type event struct {
	Action, Package, Test, Output, FailedBuild string
}

// flake is a test that failed and passed when it ran again.
type flake struct {
	pkg, test string
	output    string // of its first failure
}

// verdict is what a stream of events says.
type verdict struct {
	refused []string // why the run is no success
	flakes  []flake
}

// packageRun is one run of a package's tests.
type packageRun struct {
	tests  map[string]string           // the last action of each test: run, pass, fail or skip
	output map[string]*strings.Builder // of each test, and of the package by ""
}

// signs are what no rerun makes good, by what begins a line of output.
var signs = []struct{ begin, name string }{
	{"WARNING: DATA RACE", "data race"},
	{"panic: test timed out", "time-out"},
	{"panic: ", "panic"},
	{"fatal error: ", "panic"},
	{"goleak: Errors", "leaked goroutine"},
}

// judge reads the events of all runs, those of reruns last. With root a rerun is of the whole test,
// and its subtests are not looked at.
func judge(stream io.Reader, root bool) (verdict, error) {
	var v verdict
	running := map[string]*packageRun{}
	last := map[flake]string{} // the last action of each test, without its output
	var failures []flake
	read := bufio.NewReader(stream) // a line may be long
	for {
		line, err := read.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			break
		}
		var e event
		if err != nil && err != io.EOF {
			return v, err
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return v, fmt.Errorf("an event that is not JSON: %w: %s", err, line)
		}
		if e.Package == "" {
			continue // of a build: the package's end says that it failed
		}
		run := running[e.Package]
		if run == nil {
			run = &packageRun{tests: map[string]string{}, output: map[string]*strings.Builder{}}
			running[e.Package] = run
		}
		switch e.Action {
		case "output":
			if run.output[e.Test] == nil {
				run.output[e.Test] = &strings.Builder{}
			}
			run.output[e.Test].WriteString(e.Output)
		case "run", "pass", "fail", "skip":
			if e.Test != "" {
				run.tests[e.Test] = e.Action
				last[flake{pkg: e.Package, test: e.Test}] = e.Action
				continue
			}
			delete(running, e.Package)
			failed := run.failed(root)
			for _, test := range failed {
				failures = append(failures, flake{e.Package, test, run.outputOf(test)})
			}
			v.refused = append(v.refused, run.refused(e, len(failed))...)
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(running)) {
		v.refused = append(v.refused, pkg+": did not end")
	}
	told := map[flake]bool{}
	for _, f := range failures {
		id := flake{pkg: f.pkg, test: f.test}
		if told[id] {
			continue
		}
		told[id] = true
		if last[id] == "pass" {
			v.flakes = append(v.flakes, f)
		} else {
			v.refused = append(v.refused, f.pkg+"."+f.test+": failed and did not pass again")
		}
	}
	if len(v.flakes) > maxFlakes {
		v.refused = append(v.refused, fmt.Sprintf("%d flakes, more than %d", len(v.flakes), maxFlakes))
	}
	return v, nil
}

// refused says what no rerun makes good of a package's run that has ended with e.
func (r *packageRun) refused(e event, failed int) (why []string) {
	add := func(reason string) {
		if reason = e.Package + ": " + reason; !slices.Contains(why, reason) {
			why = append(why, reason)
		}
	}
	if e.Action != "fail" {
		return nil
	}
	if e.FailedBuild != "" {
		add("does not compile")
		return why
	}
	for _, output := range r.output {
		for line := range strings.Lines(output.String()) {
			for _, sign := range signs {
				if strings.HasPrefix(line, sign.begin) {
					add(sign.name)
					break
				}
			}
			if strings.Contains(line, "found unexpected goroutines") {
				add("leaked goroutine")
			}
		}
	}
	for _, test := range slices.Sorted(maps.Keys(r.tests)) {
		if r.tests[test] == "run" {
			add(test + " did not end")
		}
	}
	if failed == 0 {
		add("failed without a failed test")
	}
	return why
}

// failed returns the tests that failed: whole tests with root, else those without a failed subtest.
func (r *packageRun) failed(root bool) (tests []string) {
	for _, test := range slices.Sorted(maps.Keys(r.tests)) {
		if r.tests[test] != "fail" || root && strings.Contains(test, "/") {
			continue
		}
		below := func(other string) bool {
			return r.tests[other] == "fail" && strings.HasPrefix(other, test+"/")
		}
		if root || !slices.ContainsFunc(slices.Collect(maps.Keys(r.tests)), below) {
			tests = append(tests, test)
		}
	}
	return tests
}

// outputOf is the output of a test and of its subtests that failed.
func (r *packageRun) outputOf(test string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.output)) {
		if name == test || strings.HasPrefix(name, test+"/") && r.tests[name] == "fail" {
			b.WriteString(r.output[name].String())
		}
	}
	return b.String()
}

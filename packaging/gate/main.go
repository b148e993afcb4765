// Command gate runs tests for make, by gotestsum, which runs a failed test once more. A failure that
// goes away is told and not hidden: the last lines are `FLAKY package.Test` with what the test said
// when it failed. The command refuses what a rerun does not make good: data races, leaked goroutines,
// panics, time-outs, packages that do not compile or fail without a failed test, more than three
// flakes, and a flake in what the change touches that does not then pass five times alone.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const module = "skerry.dev/skerry/"

// again is how often a flake in what the change touches must pass alone.
const again = "5"

// options are what the flags say.
type options struct {
	gotestsum string
	root      bool
	verbose   bool
	changed   []string // files, from the root of the repository
	packages  string
	flakes    string   // the file of their names; none if it is empty
	args      []string // of go test
}

func main() {
	o := options{}
	flag.StringVar(&o.gotestsum, "gotestsum", "gotestsum", "the program gotestsum")
	flag.BoolVar(&o.root, "root", false, "run the whole test again when a subtest failed")
	flag.BoolVar(&o.verbose, "v", false, "print all output as it comes")
	changed := flag.String("changed", "", "files that the change touches, separated by white space")
	flag.StringVar(&o.packages, "packages", "", "packages to test, separated by white space")
	flag.StringVar(&o.flakes, "flakes", "", "file that gets a line for each flake: PACKAGE PATTERN, for go test -run")
	flag.Parse()
	o.changed, o.args = strings.Fields(*changed), flag.Args()
	if err := o.run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "gate:", err)
		os.Exit(1)
	}
}

// run tests and tells what it found.
func (o options) run(out io.Writer) error {
	dir, err := os.MkdirTemp("", "skerry-gate-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	events := filepath.Join(dir, "events.json")
	failed := command(out, o.gotestsum, o.sumArgs(events)...).Run()
	file, err := os.Open(events)
	if err != nil {
		return errors.Join(failed, err)
	}
	defer file.Close()
	v, err := judge(file, o.root)
	if err != nil {
		return errors.Join(failed, err)
	}
	for _, f := range v.flakes {
		if f.touched(o.changed) {
			fmt.Fprintf(out, "== %s.%s failed once and the change touches it: it runs %s times alone\n", f.pkg, f.test, again)
			if err := command(out, "go", o.againArgs(f)...).Run(); err != nil {
				v.refused = append(v.refused, fmt.Sprintf("%s.%s: a flake in what the change touches: %v", f.pkg, f.test, err))
			}
		}
	}
	for _, f := range v.flakes {
		fmt.Fprintf(out, "FLAKY %s.%s\n%s", f.pkg, f.test, f.output)
	}
	if err := o.keep(v.flakes); err != nil {
		return errors.Join(failed, err)
	}
	for _, why := range v.refused {
		fmt.Fprintln(out, "REFUSED", why)
	}
	if len(v.refused) > 0 {
		return errors.New("the tests failed")
	}
	return failed // without a reason of its own, gotestsum's
}

// sumArgs are the arguments of gotestsum.
func (o options) sumArgs(events string) []string {
	args := []string{"--jsonfile", events, "--packages", o.packages, "--rerun-fails=1", "--rerun-fails-max-failures=4",
		"--rerun-fails-abort-on-data-race"}
	if o.root {
		args = append(args, "--rerun-fails-run-root-test")
	}
	if o.verbose {
		args = append(args, "--format", "standard-verbose", "--hide-summary", "skipped,output")
	} else {
		args = append(args, "--format", "standard-quiet", "--hide-summary", "skipped")
	}
	return append(append(args, "--"), o.args...)
}

// againArgs are the arguments of go, for a test that runs alone.
func (o options) againArgs(f flake) []string {
	args := slices.DeleteFunc(slices.Clone(o.args), func(arg string) bool {
		return strings.HasPrefix(arg, "-count=") || strings.HasPrefix(arg, "-run=")
	})
	return append(append([]string{"test"}, args...), "-count="+again, "-run="+f.pattern(), f.pkg)
}

// pattern selects the test alone.
func (f flake) pattern() string {
	parts := strings.Split(f.test, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// keep writes down what was told, for make flakes.
func (o options) keep(flakes []flake) error {
	if o.flakes == "" || len(flakes) == 0 {
		return nil
	}
	file, err := os.OpenFile(o.flakes, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	for _, f := range flakes {
		_, wrote := fmt.Fprintln(file, f.pkg, f.pattern())
		err = errors.Join(err, wrote)
	}
	return errors.Join(err, file.Close())
}

// touched says whether one of the files is in the test's package or its testdata, or is its script.
func (f flake) touched(files []string) bool {
	return slices.ContainsFunc(files, func(file string) bool {
		dir := path.Dir(file)
		if path.Base(dir) == "script" && strings.HasSuffix(f.test, "/script/"+strings.TrimSuffix(path.Base(file), ".txt")) {
			return true
		}
		owner, _, _ := strings.Cut(dir+"/", "/testdata/")
		return path.Join(module, dir) == f.pkg || path.Join(module, owner) == f.pkg
	})
}

func command(out io.Writer, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	return cmd
}

package upstream

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// Result is how one test ended in one space.
type Result struct {
	Space string `json:"space"`
	Test  string `json:"spec"`
	// State is passed, or how it failed; skipped when the test itself declined to run, which counts
	// as not passed.
	State   string  `json:"state"`
	Seconds float64 `json:"seconds"`
	Message string  `json:"message,omitempty"`
	// At is the place in upstream's sources that failed.
	At string `json:"at,omitempty"`
}

const passed = "passed"

// Round is one run of a list of tests.
type Round struct {
	Name string `json:"name"`
	// Spaces is in how many spaces at once they ran, Declared how many of them each space was
	// asked.
	Spaces   int     `json:"spaces"`
	Declared int     `json:"declared"`
	Excluded int     `json:"excluded"`
	Passed   []int   `json:"passed"`
	Seconds  float64 `json:"seconds"`
	// NotPassed are the results that are not passed, tests without any result among them.
	NotPassed []Result `json:"notPassed"`
}

// add counts what one space has answered.
func (r *Round) add(space string, chosen []string, results []Result) {
	n := 0
	for _, name := range chosen {
		i := slices.IndexFunc(results, func(x Result) bool { return x.Test == name })
		switch {
		case i < 0:
			r.NotPassed = append(r.NotPassed, Result{Space: space, Test: name, State: "no result"})
		case results[i].State == passed:
			n++
		default:
			r.NotPassed = append(r.NotPassed, results[i])
		}
	}
	r.Passed = append(r.Passed, n)
}

// complete says whether every test has passed in every space.
func (r *Round) complete() bool {
	return !slices.ContainsFunc(r.Passed, func(n int) bool { return n != r.Declared })
}

func table(w io.Writer, rounds []*Round) {
	fmt.Fprintf(w, "\n%-34s %9s %9s %9s %8s\n", "", "declared", "passed", "excluded", "minutes")
	for _, r := range rounds {
		for i, n := range r.Passed {
			name := r.Name
			if r.Spaces > 1 {
				name = fmt.Sprintf("%s, %d of %d at once", r.Name, i+1, r.Spaces)
			}
			fmt.Fprintf(w, "%-34s %9d %9d %9d %8.1f\n", name, r.Declared, n, r.Excluded, r.Seconds/60)
		}
	}
	for _, r := range rounds {
		for _, x := range r.NotPassed {
			fmt.Fprintf(w, "\n%s: %s in %s: %s\n  %s\n", r.Name, x.State, x.Space, x.Test, x.At)
		}
	}
}

// follow reads the results that the processes of a suite add to a file, as they come, until ctx
// ends, and then what is left.
func follow(ctx context.Context, path string, each func(Result)) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return fmt.Errorf("read results: %w", err)
	}
	defer f.Close()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	var line []byte
	for in := bufio.NewReader(f); ; {
		part, err := in.ReadBytes('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			var r Result
			if err := json.Unmarshal(line, &r); err != nil {
				return fmt.Errorf("read results: %w", err)
			}
			each(r)
			line = nil
		case err != io.EOF:
			return fmt.Errorf("read results: %w", err)
		case ctx.Err() != nil:
			return nil
		default:
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	}
}

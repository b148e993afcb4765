package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrFaults is returned by Report.Err when a check has failed.
var ErrFaults = errors.New("something is wrong")

// limit bounds one check.
const limit = time.Minute

// Report is what all checks found, in their order.
type Report struct {
	// Version of the program that looked.
	Version  string    `json:"version"`
	At       time.Time `json:"at"`
	Findings []Finding `json:"findings"`
}

// New returns an empty report of a program of this version.
func New(version string) *Report {
	return &Report{Version: version, At: time.Now().UTC().Truncate(time.Second), Findings: []Finding{}}
}

// Run runs the checks of one part, one after the other, and adds what they find.
func (r *Report) Run(ctx context.Context, part string, checks []Check) {
	causes := map[string]string{} // the failed check behind each one that failed or was skipped for it
	for _, c := range checks {
		if i := slices.IndexFunc(c.Needs, func(n string) bool { return causes[n] != "" }); i >= 0 {
			causes[c.Name] = causes[c.Needs[i]]
			r.add(part, c, Skip("because %s failed", causes[c.Name]))
			continue
		}
		for _, f := range run(ctx, c) {
			r.add(part, c, f)
			if f.Verdict == Failed {
				causes[c.Name] = c.Name
			}
		}
	}
}

func run(ctx context.Context, c Check) []Finding {
	if ctx.Err() != nil {
		return []Finding{Skip("interrupted")}
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if found := c.Run(ctx); len(found) > 0 {
		return found
	}
	return []Finding{{Verdict: OK}}
}

func (r *Report) add(part string, c Check, f Finding) {
	f.Part, f.Check, f.What = part, c.Name, c.What
	r.Findings = append(r.Findings, f)
}

// Names returns the names of checks.
func Names(checks []Check) (names []string) {
	for _, c := range checks {
		names = append(names, c.Name)
	}
	return names
}

// Count returns how many findings have a verdict.
func (r *Report) Count(v Verdict) (n int) {
	for _, f := range r.Findings {
		if f.Verdict == v {
			n++
		}
	}
	return n
}

// Err is ErrFaults when a check has failed.
func (r *Report) Err() error {
	switch n := r.Count(Failed); n {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%w: 1 check failed", ErrFaults)
	default:
		return fmt.Errorf("%w: %d checks failed", ErrFaults, n)
	}
}

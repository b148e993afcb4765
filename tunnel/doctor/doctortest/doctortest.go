// Package doctortest has what the tests of checks share: the fault that a test seeds must be named,
// and nothing else.
//
//	doctortest.Alone(t, parent.Checks(cfg), "parent.udp", "udp-blocked")
package doctortest

import (
	"bytes"
	"slices"
	"testing"

	"skerry.dev/skerry/tunnel/doctor"
)

// Alone runs the checks and returns the only finding that is a failure or a warning. The test fails
// unless it is of this check and this fault, has a cause and a fix, and is one that the check says
// it can find. The empty fault is that all is well.
func Alone(t testing.TB, checks []doctor.Check, check, fault string) (found doctor.Finding) {
	t.Helper()
	r := doctor.New("v1.4.0")
	r.Run(t.Context(), "here", checks)
	n := 0
	for _, f := range r.Findings {
		if f.Fault == "" {
			continue
		}
		n, found = n+1, f
		i := slices.IndexFunc(checks, func(c doctor.Check) bool { return c.Name == f.Check })
		if !slices.ContainsFunc(checks[i].Faults, func(known doctor.Fault) bool { return known.Name == f.Fault }) {
			t.Errorf("%s does not say that it finds %s", f.Check, f.Fault)
		}
	}
	if fault == "" && n == 0 {
		return found
	}
	if n != 1 || found.Fault != fault || found.Check != check || found.Why == "" || found.Fix == "" {
		var text bytes.Buffer
		_ = r.Print(&text, "wide") // into memory
		t.Fatalf("want %q by %q alone:\n%s", fault, check, &text)
	}
	return found
}

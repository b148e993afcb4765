package doctor

import (
	"context"
	"fmt"
)

// Verdict is what a check says.
type Verdict string

// The verdicts.
const (
	// OK: it was looked at and is as it should be.
	OK Verdict = "ok"
	// Warning: it works, and something should be done all the same.
	Warning Verdict = "warning"
	// Failed: it does not work.
	Failed Verdict = "failed"
	// Skipped: it was not looked at; Why says the reason.
	Skipped Verdict = "skipped"
)

// Fault is one thing that can be wrong.
type Fault struct {
	// Name is unique and stays: lower-case words with '-' between them.
	Name string
	// Means is what is wrong and what follows from it, in one sentence.
	Means string
	// Fix is the one thing to do. A Finding may have a more precise one.
	Fix string
}

// Check looks at one thing.
type Check struct {
	// Name is PART.THING, as in parent.name.
	Name string
	// What it looks at, as a short phrase.
	What string
	// Needs are checks that stand before this one: it is skipped when one of them has failed or was
	// skipped.
	Needs []string
	// Faults are all that it can find.
	Faults []Fault
	// Run looks. No finding means that all is well. It must end when ctx does.
	Run func(ctx context.Context) []Finding
}

// Finding is what a check found.
type Finding struct {
	// Part is what was checked: center, agent, workstation, or join for a site that is about to.
	Part  string `json:"part"`
	Check string `json:"check"`
	What  string `json:"what"`
	// About is which of several things it is about: a site, a file, an address. Empty for one.
	About   string  `json:"about,omitempty"`
	Verdict Verdict `json:"verdict"`
	// Fault is the Fault's name. Empty when nothing is wrong.
	Fault string `json:"fault,omitempty"`
	// Why is what was seen. It has no secrets in it.
	Why string `json:"why,omitempty"`
	// Fix is the one thing to do.
	Fix string `json:"fix,omitempty"`
}

// Good returns a finding that all is well. It says what was seen.
func Good(format string, args ...any) Finding {
	return Finding{Verdict: OK, Why: fmt.Sprintf(format, args...)}
}

// Skip returns a finding that nothing was looked at, and the reason.
func Skip(format string, args ...any) Finding {
	return Finding{Verdict: Skipped, Why: fmt.Sprintf(format, args...)}
}

// Fails returns a finding that the fault is there. It says what was seen.
func (f Fault) Fails(format string, args ...any) Finding { return f.found(Failed, format, args...) }

// Warns is Fails for something that works all the same.
func (f Fault) Warns(format string, args ...any) Finding { return f.found(Warning, format, args...) }

func (f Fault) found(v Verdict, format string, args ...any) Finding {
	return Finding{Verdict: v, Fault: f.Name, Why: fmt.Sprintf(format, args...), Fix: f.Fix}
}

// On returns the finding with what it is about.
func (f Finding) On(about string) Finding {
	f.About = about
	return f
}

// Do returns the finding with a more precise fix.
func (f Finding) Do(format string, args ...any) Finding {
	f.Fix = fmt.Sprintf(format, args...)
	return f
}

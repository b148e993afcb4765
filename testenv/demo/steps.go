package demo

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// steps runs the steps of the demo one after another, prints a line for each and remembers how long
// each took.
type steps struct {
	out   io.Writer
	began time.Time
	done  []step
}

type step struct {
	what, shown string
	took        time.Duration
}

// run prints what is about to happen, does it, and prints what was shown. The steps after a failed
// one are not run.
func (s *steps) run(ctx context.Context, what string, do func(ctx context.Context) (shown string, err error)) error {
	fmt.Fprintf(s.out, "[%6.1fs] %s ...\n", time.Since(s.began).Seconds(), what)
	started := time.Now()
	shown, err := do(ctx)
	took := time.Since(started)
	if err != nil {
		fmt.Fprintf(s.out, "[%6.1fs] FAILED after %.1fs: %s\n", time.Since(s.began).Seconds(), took.Seconds(), what)
		return fmt.Errorf("%s: %w", what, err)
	}
	s.done = append(s.done, step{what, shown, took})
	return nil
}

// show prints the output of a command, indented.
func (s *steps) show(title, text string) {
	fmt.Fprintf(s.out, "          $ %s\n", title)
	for _, line := range lines(text) {
		fmt.Fprintf(s.out, "          %s\n", line)
	}
}

func (s *steps) table() {
	fmt.Fprintln(s.out)
	w := tabwriter.NewWriter(s.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "STEP\tTOOK\tSHOWN")
	for _, d := range s.done {
		fmt.Fprintf(w, "%s\t%.1fs\t%s\n", d.what, d.took.Seconds(), d.shown)
	}
	fmt.Fprintf(w, "all\t%.1fs\t\n", time.Since(s.began).Seconds())
	w.Flush()
}

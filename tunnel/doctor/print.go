package doctor

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"skerry.dev/skerry/tunnel/output"
)

// Formats are what Print writes.
var Formats = []string{"table", "wide", "json", "yaml"}

// Print writes the report in one of Formats. The empty format is the table. It has one line for
// each finding, and below it what is wrong and what to do. The wide table says what was seen where
// all is well, too.
func (r *Report) Print(w io.Writer, format string) error {
	if printed, err := output.Print(w, format, r); printed {
		return err
	}
	return r.table(w, format == "wide")
}

func (r *Report) table(w io.Writer, wide bool) error {
	t := tabwriter.NewWriter(w, 0, 8, 3, ' ', 0)
	fmt.Fprintln(t, "PART\tCHECK\tVERDICT\tABOUT\tSEEN")
	for _, f := range r.Findings {
		seen := f.Why
		switch {
		case f.Fault != "":
			seen = f.Fault // the text stands below
		case f.Verdict == OK && !wide:
			seen = f.What
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", f.Part, f.Check, f.Verdict, cmp.Or(f.About, "-"), cmp.Or(seen, f.What))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, v := range []Verdict{Failed, Warning} {
		for _, f := range r.Findings {
			if f.Verdict == v {
				fmt.Fprintf(w, "\n%s: %s\n  why: %s\n  fix: %s\n", v, title(f), f.Why, f.Fix)
			}
		}
	}
	_, err := fmt.Fprintf(w, "\n%d ok, %d warnings, %d failed, %d skipped\n",
		r.Count(OK), r.Count(Warning), r.Count(Failed), r.Count(Skipped))
	return err
}

func title(f Finding) string {
	if f.About != "" {
		return fmt.Sprintf("%s (%s, %s)", f.Fault, f.Check, f.About)
	}
	return fmt.Sprintf("%s (%s)", f.Fault, f.Check)
}

// Known reports whether Print knows the format.
func Known(format string) bool { return format == "" || slices.Contains(Formats, format) }

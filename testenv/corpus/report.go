package corpus

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

func (res *result) verdict() string {
	open := 0
	for _, d := range res.differences {
		if d.reason == "" {
			open++
		}
	}
	switch {
	case res.err != nil:
		return "broken: " + short(res.err.Error())
	case open > 0:
		return fmt.Sprint(open, " differences")
	case len(res.differences) > 0:
		return fmt.Sprint("equal, ", len(res.differences), " declared")
	}
	return "equal"
}

// summary is the end of the table, and the content of the summary file.
type summary struct {
	Units         int      `json:"units"`
	EqualUnits    int      `json:"equalUnits"`
	Objects       int      `json:"objects"`
	UnequalObject int      `json:"unequalObjects"`
	Declared      int      `json:"declaredDifferences"`
	Broken        []string `json:"broken,omitempty"`
	Differences   []string `json:"differences,omitempty"`
}

// report prints the table, writes the summary, and returns ErrDifferent where there is something
// undeclared.
func (r *run) report(results []result) error {
	var s summary
	w := tabwriter.NewWriter(r.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "UNIT\tOBJECTS\tTOOK\tRESULT")
	for _, res := range results {
		fmt.Fprintf(w, "%s\t%d\t%.0fs\t%s\n", res.unit, res.objects, res.took.Seconds(), res.verdict())
		s.add(&res)
	}
	w.Flush()
	for _, d := range s.Differences {
		fmt.Fprintln(r.Out, d)
	}
	fmt.Fprintf(r.Out, "units equal: %d of %d; objects equal: %d of %d; declared differences: %d\n",
		s.EqualUnits, s.Units, s.Objects-s.UnequalObject, s.Objects, s.Declared)
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.Summary), 0o755); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	if err := os.WriteFile(r.Summary, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	if s.EqualUnits != s.Units {
		return fmt.Errorf("%w in %d of %d units", ErrDifferent, s.Units-s.EqualUnits, s.Units)
	}
	return nil
}

func (s *summary) add(res *result) {
	s.Units++
	s.Objects += res.objects
	unequal := map[string]bool{}
	for _, d := range res.differences {
		if d.reason != "" {
			s.Declared++
			continue
		}
		unequal[d.object] = true
		s.Differences = append(s.Differences, res.unit+": "+d.String())
	}
	s.UnequalObject += len(unequal)
	switch {
	case res.err != nil:
		s.Broken = append(s.Broken, res.unit+": "+res.err.Error())
	case len(unequal) == 0:
		s.EqualUnits++
	}
}

func sortedLines(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

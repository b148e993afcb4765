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

// logResult tells of a unit as soon as it has ended.
func (r *run) logResult(res result) {
	var lines strings.Builder
	fmt.Fprintf(&lines, "%-32s %s\n", res.unit, res.verdict())
	for _, d := range res.differences {
		if d.reason == "" {
			fmt.Fprintf(&lines, "  %s\n", d)
		}
	}
	fmt.Fprint(r.Log, lines.String())
}

// summary is the end of the table, and the content of the summary file.
type summary struct {
	Units int `json:"units"`
	// EqualUnits have no difference, and DeclaredUnits none but declared ones.
	EqualUnits      int      `json:"equalUnits"`
	DeclaredUnits   int      `json:"declaredUnits"`
	Objects         int      `json:"objects"`
	EqualObjects    int      `json:"equalObjects"`
	DeclaredObjects int      `json:"declaredObjects"`
	Statuses        int      `json:"statuses"`
	EqualStatuses   int      `json:"equalStatuses"`
	Declared        int      `json:"declaredDifferences"`
	Broken          []string `json:"broken,omitempty"`
	Differences     []string `json:"differences,omitempty"`
	// Notes are what a cluster refuses of a bundle, too, and what only the space warns of.
	Notes []string `json:"notes,omitempty"`
	// Unused are declarations of units that nothing needed in this run.
	Unused []string `json:"unusedDeclarations,omitempty"`
}

// report prints the table, writes the summary, and returns ErrDifferent where there is something
// undeclared.
func (r *run) report(results []result) error {
	var s summary
	w := tabwriter.NewWriter(r.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "UNIT\tOBJECTS\tTOOK\tRESULT")
	for _, res := range results {
		fmt.Fprintf(w, "%s\t%d\t%.0fs\t%s\n", res.unit, res.compared.objects, res.took.Seconds(), res.verdict())
		s.add(&res)
	}
	w.Flush()
	for _, d := range s.Differences {
		fmt.Fprintln(r.Out, d)
	}
	for _, n := range s.Notes {
		fmt.Fprintln(r.Out, n)
	}
	for _, d := range s.Unused {
		fmt.Fprintln(r.Out, "declared and not seen: "+d)
	}
	fmt.Fprintf(r.Out, "units: %d equal, %d declared, %d different, of %d\n",
		s.EqualUnits, s.DeclaredUnits, s.Units-s.EqualUnits-s.DeclaredUnits, s.Units)
	fmt.Fprintf(r.Out, "objects: %d equal, %d declared, of %d; statuses equal or declared: %d of %d; "+
		"declared differences: %d\n",
		s.EqualObjects, s.DeclaredObjects, s.Objects, s.EqualStatuses, s.Statuses, s.Declared)
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
	if different := s.Units - s.EqualUnits - s.DeclaredUnits; different > 0 {
		return fmt.Errorf("%w in %d of %d units", ErrDifferent, different, s.Units)
	}
	return nil
}

func (s *summary) add(res *result) {
	s.Units++
	open, declared, statuses := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, d := range res.differences {
		if d.reason != "" {
			s.Declared++
			declared[d.object] = true
			continue
		}
		open[d.object] = true
		if d.path == "*" || strings.HasPrefix(d.path, "status.") {
			statuses[d.object] = true
		}
		s.Differences = append(s.Differences, res.unit+": "+d.String())
	}
	for object := range open {
		delete(declared, object)
	}
	s.Objects += res.compared.objects
	s.EqualObjects += max(0, res.compared.objects-len(open)-len(declared))
	s.DeclaredObjects += min(len(declared), res.compared.objects)
	s.Statuses += res.compared.statuses
	s.EqualStatuses += max(0, res.compared.statuses-len(statuses))
	for _, n := range append(slices.Clone(res.notes), res.warnings...) {
		s.Notes = append(s.Notes, res.unit+": "+n)
	}
	for _, d := range res.unused {
		s.Unused = append(s.Unused, fmt.Sprintf("%s: %s %s (%s)", res.unit, d.Object, d.Path, d.Reason))
	}
	switch {
	case res.err != nil:
		s.Broken = append(s.Broken, res.unit+": "+res.err.Error())
	case len(open) == 0 && len(res.differences) == 0:
		s.EqualUnits++
	case len(open) == 0:
		s.DeclaredUnits++
	}
}

func sortedLines(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

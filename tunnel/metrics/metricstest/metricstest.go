// Package metricstest keeps the reference of metrics, packaging/docs/reference/metrics.md, equal to what the
// program registers. The page has one section for the center and one for the agent; each is
// generated from the registry of one that a test has made:
//
//	metricstest.Document(t, page, "center", registry.Descriptions())
//
// It also holds the names to Prometheus' rules. No program uses it.
package metricstest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"skerry.dev/skerry/tunnel/metrics"
)

// updateEnv is the variable that has the page written instead of compared: make reference sets it.
const updateEnv = "SKERRY_UPDATE"

// Document fails the test when the section of the page is not that of the descriptions, or when a
// description breaks the rules of names. With SKERRY_UPDATE=1 it writes the section.
func Document(t *testing.T, page, section string, list []metrics.Description) {
	t.Helper()
	for _, d := range list {
		for _, complaint := range Lint(d) {
			t.Errorf("%s: %s", d.Name, complaint)
		}
	}
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want, err := replace(string(data), section, Table(list))
	switch {
	case err != nil:
		t.Fatalf("%s: %v", page, err)
	case want == string(data):
	case os.Getenv(updateEnv) != "":
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s does not say what is registered: make reference", page)
	}
}

// Table returns a Markdown table of metrics.
func Table(list []metrics.Description) string {
	var b strings.Builder
	b.WriteString("| metric | type | labels | what |\n|---|---|---|---|\n")
	for _, d := range list {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.Name, d.Type, strings.Join(d.Labels, ", "), d.Help)
	}
	return b.String()
}

// replace puts text between the two comments that mark a section.
func replace(page, section, text string) (string, error) {
	begin, end := "<!-- begin "+section+" -->\n", "<!-- end "+section+" -->"
	before, rest, ok := strings.Cut(page, begin)
	if !ok {
		return "", fmt.Errorf("there is no %q", begin)
	}
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		return "", fmt.Errorf("there is no %q", end)
	}
	return before + begin + text + end + after, nil
}

// units are the suffixes of names that Prometheus has base units for, without _total.
var units = []string{"_seconds", "_bytes", "_info", "_ratio"}

// ofSpaces is the one metric with a label that names spaces: admins of root read whose callers are not answered. Its
// labels are bounded where it is made.
const ofSpaces = "skerry_ingress_requests_total"

// notBase are units that are not base units.
var notBase = []string{"_milliseconds", "_ms", "_minutes", "_hours", "_kb", "_kilobytes", "_megabytes", "_percent"}

// Lint says what is wrong with a description.
func Lint(d metrics.Description) (complaints []string) {
	if !strings.HasPrefix(d.Name, "skerry_") {
		complaints = append(complaints, "a name begins with skerry_")
	}
	if len(strings.Fields(d.Help)) < 3 || !strings.HasSuffix(d.Help, ".") {
		complaints = append(complaints, "the help is no sentence: "+d.Help)
	}
	base := strings.TrimSuffix(d.Name, "_total")
	ends := func(unit string) bool { return strings.HasSuffix(base, unit) }
	if d.Type != metrics.Counter && base != d.Name {
		complaints = append(complaints, "only a counter ends in _total")
	}
	if slices.ContainsFunc(notBase, ends) {
		complaints = append(complaints, "the unit is no base unit")
	}
	if d.Type == metrics.Histogram && !slices.ContainsFunc(units, ends) {
		complaints = append(complaints, "a histogram ends in its unit")
	}
	if strings.HasSuffix(base, "_timestamp") {
		complaints = append(complaints, "a time ends in _timestamp_seconds")
	}
	if slices.Contains(d.Labels, "part") || slices.Contains(d.Labels, "space") && d.Name != ofSpaces {
		complaints = append(complaints, "part is the registry's label, and no label names a space")
	}
	return complaints
}

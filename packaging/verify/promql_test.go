package verify

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// metricsPage lists what the program exports. Tests of server and agent hold it to their registries.
const metricsPage = "../docs/reference/metrics.md"

// exported are the labels of the metrics that the page lists, by name. Those of a histogram stand
// under the names of its series.
func exported(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{"up": {"job", "instance"}}
	rows := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (counter|gauge|histogram) \\| ([a-z_, ]*) \\|").
		FindAllStringSubmatch(string(page), -1)
	for _, row := range rows {
		labels := []string{"job", "instance", "part"}
		if row[3] != "" {
			labels = append(labels, strings.Split(row[3], ", ")...)
		}
		if row[2] != "histogram" {
			out[row[1]] = labels
			continue
		}
		out[row[1]+"_bucket"] = append(slices.Clone(labels), "le")
		out[row[1]+"_sum"], out[row[1]+"_count"] = labels, labels
	}
	if len(out) < 30 {
		t.Fatalf("%s lists %d metrics: the test does not read it", metricsPage, len(out))
	}
	return out
}

// query is what an expression of PromQL names.
type query struct {
	selectors []selector
	groups    []string // labels of by, without, on, ignoring
}

// selector is a metric with the labels that it is matched by.
type selector struct {
	name   string
	labels []string
}

var (
	words      = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*`)
	strs       = regexp.MustCompile(`^"(?:[^"\\]|\\.)*"|^'(?:[^'\\]|\\.)*'`)
	numbers    = regexp.MustCompile(`^[0-9][0-9a-zA-Z.]*`)
	variables  = regexp.MustCompile(`^\$(?:\{[^}]*\}|[a-zA-Z_]+)`)
	ranges     = regexp.MustCompile(`^\[[^\]]*\]`)
	keywords   = strings.Fields("and or unless bool offset group_left group_right")
	groupings  = strings.Fields("by without on ignoring")
	matchLabel = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)\s*(?:=~|!~|!=|=)\s*"`)
)

// parseQuery reads enough of an expression to know the metrics and labels in it. promtool checks its
// grammar.
func parseQuery(expr string) (q query) {
	next := func(re *regexp.Regexp) (found string) {
		found = re.FindString(expr)
		expr = expr[len(found):]
		return found
	}
	for expr != "" {
		if next(strs) != "" || next(numbers) != "" || next(variables) != "" || next(ranges) != "" {
			continue
		}
		word := next(words)
		rest := strings.TrimLeft(expr, " \n")
		switch {
		case word == "":
			expr = expr[1:]
		case slices.Contains(keywords, word):
		case slices.Contains(groupings, word):
			inside, after, _ := strings.Cut(strings.TrimPrefix(rest, "("), ")")
			q.groups = append(q.groups, fields(inside)...)
			expr = after
		case strings.HasPrefix(rest, "("), slices.Contains(groupings, words.FindString(rest)): // a function
		default:
			s := selector{name: word}
			if strings.HasPrefix(rest, "{") {
				inside, after, _ := strings.Cut(rest[1:], "}")
				for _, m := range matchLabel.FindAllStringSubmatch(inside, -1) {
					s.labels = append(s.labels, m[1])
				}
				expr = after
			}
			q.selectors = append(q.selectors, s)
		}
	}
	return q
}

func fields(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// unknownNames are the metrics and labels of an expression, and further labels that are shown of its
// result, that nothing exports.
func unknownNames(known map[string][]string, expr string, shown ...string) (unknown []string) {
	q := parseQuery(expr)
	var all []string
	for _, s := range q.selectors {
		labels, ok := known[s.name]
		if !ok {
			unknown = append(unknown, s.name)
		}
		for _, l := range s.labels {
			if ok && !slices.Contains(labels, l) {
				unknown = append(unknown, s.name+"{"+l+"}")
			}
		}
		all = append(all, labels...)
	}
	for _, l := range append(q.groups, shown...) {
		if !slices.Contains(all, l) {
			unknown = append(unknown, l)
		}
	}
	if len(q.selectors) == 0 {
		unknown = append(unknown, "no metric at all")
	}
	return unknown
}

func TestUnknownNames(t *testing.T) {
	known := map[string][]string{"a_total": {"job", "x"}, "b_bucket": {"job", "le"}, "c": {"job"}}
	for expr, want := range map[string]string{
		`sum by (x) (rate(a_total{job="j",x!~"(a|b)"}[$__rate_interval])) > 0.1`:  "",
		`histogram_quantile(0.99, sum by (le) (rate(b_bucket{job=~"$job"}[5m])))`: "",
		`c > 1e9 and on (job) c offset 5m unless absent(c)`:                       "",
		`a_totals > 0`:         "a_totals",
		`a_total{y="1"} or c`:  "a_total{y}",
		`sum by (y) (a_total)`: "y",
		`1 > 2`:                "no metric at all",
	} {
		if got := strings.Join(unknownNames(known, expr), " "); got != want {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
	if got := unknownNames(known, "c", "y"); len(got) != 1 {
		t.Errorf("a label that is shown and does not exist: %v", got)
	}
}

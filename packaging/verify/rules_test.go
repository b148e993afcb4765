package verify

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const (
	rulesFile   = "../skerry.rules.yaml"
	rulesTests  = "../skerry.rules.test.yaml"
	runbookPage = "../docs/reference/alerts.md"
	runbookURL  = "https://skerry.dev/docs/alerts#"
)

// alert is a rule of Prometheus.
type alert struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func alerts(t *testing.T) (list []alert) {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []alert `json:"rules"`
		} `json:"groups"`
	}
	read(t, rulesFile, &file)
	for _, g := range file.Groups {
		list = append(list, g.Rules...)
	}
	if len(list) < 8 {
		t.Fatalf("%s has %d alerts: the test does not read it", rulesFile, len(list))
	}
	return list
}

func read(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

var shownLabel = regexp.MustCompile(`\$labels\.([a-z_]+)`)

// Each alert names what exists, and says how bad it is, what it means and where to read on.
func TestAlerts(t *testing.T) {
	known, seen := exported(t), map[string]bool{}
	for _, a := range alerts(t) {
		if seen[a.Alert] {
			t.Errorf("%s stands twice", a.Alert)
		}
		seen[a.Alert] = true
		var shown []string
		for _, m := range shownLabel.FindAllStringSubmatch(a.Annotations["summary"]+a.Annotations["description"], -1) {
			shown = append(shown, m[1])
		}
		if unknown := unknownNames(known, a.Expr, shown...); len(unknown) > 0 {
			t.Errorf("%s: %s does not list %v", a.Alert, metricsPage, unknown)
		}
		if !slices.Contains([]string{"info", "warning", "critical"}, a.Labels["severity"]) {
			t.Errorf("%s: severity %q", a.Alert, a.Labels["severity"])
		}
		for _, what := range []string{"summary", "description"} {
			if a.Annotations[what] == "" {
				t.Errorf("%s has no %s", a.Alert, what)
			}
		}
		if want := runbookURL + strings.ToLower(a.Alert); a.Annotations["runbook_url"] != want {
			t.Errorf("%s: runbook_url %q, want %q", a.Alert, a.Annotations["runbook_url"], want)
		}
	}
}

// Each alert has an entry in the runbook: what it means, what to look at, what to do. Each entry has
// an alert.
func TestAlertsHaveRunbook(t *testing.T) {
	page, err := os.ReadFile(runbookPage)
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string]string{}
	for _, part := range strings.Split("\n"+string(page), "\n## ")[1:] {
		title, text, _ := strings.Cut(part, "\n")
		entries[title] = text
	}
	for _, a := range alerts(t) {
		text, ok := entries[a.Alert]
		if !ok {
			t.Errorf("%s has no entry %q", runbookPage, "## "+a.Alert)
		}
		delete(entries, a.Alert)
		for _, what := range []string{"**Means:**", "**Look:**", "**Do:**"} {
			if ok && !strings.Contains(text, what) {
				t.Errorf("%s: %s does not say %s", runbookPage, a.Alert, what)
			}
		}
	}
	for title := range entries {
		t.Errorf("%s: there is no alert %s", runbookPage, title)
	}
}

// promtool has a test in which each alert fires, and one in which it does not although its metrics
// are there.
func TestAlertsAreTested(t *testing.T) {
	var file struct {
		Tests []struct {
			Name  string `json:"name"`
			Tests []struct {
				Name   string           `json:"alertname"`
				Alerts []map[string]any `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		} `json:"tests"`
	}
	read(t, rulesTests, &file)
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, one := range test.Tests {
			switch {
			case len(one.Alerts) > 0:
				fires[one.Name] = true
			case test.Name == "all is well":
				silent[one.Name] = true
			}
		}
	}
	for _, a := range alerts(t) {
		if !fires[a.Alert] || !silent[a.Alert] {
			t.Errorf("%s: fires %t and is silent %t in %s", a.Alert, fires[a.Alert], silent[a.Alert], rulesTests)
		}
	}
}

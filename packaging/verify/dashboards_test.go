package verify

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// dashboard is what the tests read of a dashboard of Grafana.
type dashboard struct {
	UID        string `json:"uid"`
	Title      string `json:"title"`
	Templating struct {
		List []struct {
			Name       string      `json:"name"`
			Type       string      `json:"type"`
			Definition string      `json:"definition"`
			Datasource *datasource `json:"datasource"`
		} `json:"list"`
	} `json:"templating"`
	Panels []panel `json:"panels"`
}

type panel struct {
	ID          int         `json:"id"`
	Type        string      `json:"type"`
	Title       string      `json:"title"`
	Datasource  *datasource `json:"datasource"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Targets []struct {
		Datasource *datasource `json:"datasource"`
		Expr       string      `json:"expr"`
		Legend     string      `json:"legendFormat"`
	} `json:"targets"`
}

type datasource struct {
	UID string `json:"uid"`
}

// chosen reports whether the datasource is the one that the viewer chooses.
func (d *datasource) chosen() bool { return d != nil && d.UID == "${datasource}" }

var (
	labelValues = regexp.MustCompile(`^label_values\((.*), ([a-z_]+)\)$`)
	legendLabel = regexp.MustCompile(`\{\{([a-z_]+)\}\}`)
	variable    = regexp.MustCompile(`\$\{?([a-z]+)`)
)

func TestDashboards(t *testing.T) {
	paths, err := filepath.Glob("../grafana/*.json")
	if err != nil || len(paths) != 3 {
		t.Fatalf("dashboards %v, %v", paths, err)
	}
	known, uids := exported(t), map[string]bool{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(data, &d); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if uids[d.UID] || d.UID == "" || d.Title == "" {
			t.Errorf("%s: uid %q, title %q", path, d.UID, d.Title)
		}
		uids[d.UID] = true
		for _, complaint := range d.complaints(known) {
			t.Errorf("%s: %s", path, complaint)
		}
	}
}

// complaints says what is wrong with a dashboard.
func (d dashboard) complaints(known map[string][]string) (list []string) {
	complain := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	given, ids, queries := map[string]bool{}, map[int]bool{}, 0
	for _, v := range d.Templating.List {
		given[v.Name] = true
		if v.Type != "query" {
			continue
		}
		m := labelValues.FindStringSubmatch(v.Definition)
		if m == nil || !v.Datasource.chosen() {
			complain("variable %s is no label_values of the chosen datasource", v.Name)
			continue
		}
		if unknown := unknownNames(known, m[1], m[2]); len(unknown) > 0 {
			complain("variable %s: nothing exports %v", v.Name, unknown)
		}
	}
	if !given["datasource"] {
		complain("there is no variable datasource")
	}
	for _, p := range d.Panels {
		if ids[p.ID] || p.ID == 0 {
			complain("two panels have the ID %d", p.ID)
		}
		ids[p.ID] = true
		if p.Title == "" {
			complain("panel %d has no title", p.ID)
		}
		if p.Type == "row" {
			continue
		}
		if p.FieldConfig.Defaults.Unit == "" || !p.Datasource.chosen() || len(p.Targets) == 0 {
			complain("%s: unit %q, datasource %v, %d queries", p.Title, p.FieldConfig.Defaults.Unit, p.Datasource,
				len(p.Targets))
		}
		for _, q := range p.Targets {
			queries++
			var shown []string
			for _, m := range legendLabel.FindAllStringSubmatch(q.Legend, -1) {
				shown = append(shown, m[1])
			}
			if unknown := unknownNames(known, q.Expr, shown...); len(unknown) > 0 || !q.Datasource.chosen() {
				complain("%s: datasource %v, nothing exports %v", p.Title, q.Datasource, unknown)
			}
			for _, m := range variable.FindAllStringSubmatch(strings.ReplaceAll(q.Expr, "$__rate_interval", ""), -1) {
				if !given[m[1]] {
					complain("%s: there is no variable %s", p.Title, m[1])
				}
			}
		}
	}
	if queries < 5 {
		complain("%d queries: the test does not read it", queries)
	}
	return list
}

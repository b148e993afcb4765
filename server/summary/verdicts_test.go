package summary

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// verdictFile has statuses of one kind as targets report them, and what tools say of them together.
type verdictFile struct {
	APIVersion string                     `json:"apiVersion"`
	Kind       string                     `json:"kind"`
	Resource   string                     `json:"resource"`
	Generation int64                      `json:"generation"`
	Spec       map[string]any             `json:"spec"`
	Statuses   map[string]json.RawMessage `json:"statuses"`
	Cases      []struct {
		Name    string   `json:"name"`
		Targets []string `json:"targets"` // names of statuses, "-" of a target that has not reported
		Away    bool     `json:"away"`    // the last target is not heard of
		Argo    string   `json:"argo"`    // its health, empty for kinds of which it says nothing
		Kstatus string   `json:"kstatus"`
	} `json:"cases"`
}

// verdict is a merged object and what tools are to say of it. The tests that ask the tools are in
// testenv/operators/argo and testenv/operators/flux, with their modules.
type verdict struct {
	Name    string         `json:"name"`
	Argo    string         `json:"argo"`
	Kstatus string         `json:"kstatus"`
	Object  map[string]any `json:"object"`
}

func TestVerdicts(t *testing.T) {
	files, err := filepath.Glob("testdata/verdicts/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			raw, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			var file verdictFile
			if err := yaml.UnmarshalStrict(raw, &file); err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(f, ".yaml") + ".merged.json"
			got, err := json.MarshalIndent(file.merge(t), "", " ")
			if err != nil {
				t.Fatal(err)
			}
			if *update {
				if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if string(got)+"\n" != string(want) {
				t.Errorf("%s is another; run with -update, and the tests of testenv/operators/argo and flux. Got\n%s", golden,
					got)
			}
		})
	}
}

// merge makes of each case the object that the space shows.
func (f verdictFile) merge(t *testing.T) (out []verdict) {
	group, _, found := strings.Cut(f.APIVersion, "/")
	if !found {
		group = ""
	}
	at := placement.Located{Key: store.Key{Group: group, Resource: f.Resource}}
	for _, c := range f.Cases {
		var reports []*store.Report
		for _, name := range c.Targets {
			if name == "-" {
				reports = append(reports, nil)
				continue
			}
			if f.Statuses[name] == nil {
				t.Fatalf("%s: no status %q", c.Name, name)
			}
			reports = append(reports, &store.Report{Status: f.Statuses[name]})
		}
		status, err := mergeAll(at, reports)
		if err != nil {
			t.Fatal(err)
		}
		if c.Away && takesConditions(at.Key) {
			status["conditions"] = add(status["conditions"], []condition{{
				placement.Condition{Type: v1alpha1.ConditionObjectReachable, Reason: placement.OutageSilent},
				time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}})
		}
		object := map[string]any{"apiVersion": f.APIVersion, "kind": f.Kind, "status": status,
			"metadata": map[string]any{"name": "x", "namespace": "default", "generation": f.Generation}}
		if f.Spec != nil {
			object["spec"] = f.Spec
		}
		out = append(out, verdict{c.Name, c.Argo, c.Kstatus, object})
	}
	return out
}

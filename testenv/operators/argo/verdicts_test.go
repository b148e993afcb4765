package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/argoproj/gitops-engine/pkg/health"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestVerdicts asks Argo CD's health assessment of what a center makes of the statuses of several
// targets (server/summary/testdata/verdicts).
func TestVerdicts(t *testing.T) {
	files, err := filepath.Glob("../../../server/summary/testdata/verdicts/*.merged.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var cases []struct {
			Name, Argo string
			Object     json.RawMessage
		}
		if err := json.Unmarshal(raw, &cases); err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			t.Run(filepath.Base(f)+"/"+c.Name, func(t *testing.T) {
				var o unstructured.Unstructured
				if err := o.UnmarshalJSON(c.Object); err != nil {
					t.Fatal(err)
				}
				is, err := health.GetResourceHealth(&o, nil)
				if err != nil {
					t.Fatal(err)
				}
				if is == nil {
					is = &health.HealthStatus{}
				}
				if string(is.Status) != c.Argo {
					t.Errorf("%q (%s), want %q: %s", is.Status, is.Message, c.Argo, c.Object)
				}
			})
		}
	}
}

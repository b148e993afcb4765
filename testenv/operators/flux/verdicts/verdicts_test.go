package verdicts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestVerdicts asks kstatus of what a center makes of the statuses of several
// targets (server/summary/testdata/verdicts).
func TestVerdicts(t *testing.T) {
	files, err := filepath.Glob("../../../../server/summary/testdata/verdicts/*.merged.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var cases []struct {
			Name, Kstatus string
			Object        json.RawMessage
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
				is, err := status.Compute(&o)
				if err != nil {
					t.Fatal(err)
				}
				if string(is.Status) != c.Kstatus {
					t.Errorf("%q (%s), want %q: %s", is.Status, is.Message, c.Kstatus, c.Object)
				}
			})
		}
	}
}

package scenarios

import (
	"os"
	"testing"
)

func TestScenarios(t *testing.T) { Run(t, "../testdata/script") }

// TestOperators runs what needs operators of others, which take long to build: make operators.
func TestOperators(t *testing.T) {
	if os.Getenv("SKERRY_OPERATORS") == "" {
		t.Skip("SKERRY_OPERATORS is not set: run it with make operators")
	}
	Run(t, "../testdata/operators")
}

func TestNamespaceFor(t *testing.T) {
	for script, want := range map[string]string{
		"script-testenv_real": "t-testenv-real",
		"script-A.b":          "t-a-b",
	} {
		if got := namespaceFor(script); got != want {
			t.Errorf("namespaceFor(%q) = %q, want %q", script, got, want)
		}
	}
}

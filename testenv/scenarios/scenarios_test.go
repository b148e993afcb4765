package scenarios

import "testing"

func TestScenarios(t *testing.T) { Run(t, "../testdata/script") }

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

package request

import (
	"testing"
)

func TestSplit(t *testing.T) {
	for path, want := range map[string][2]string{
		"/api/v1/pods":               {"root", "/api/v1/pods"},
		"/clusters/team/api/v1/pods": {"team", "/api/v1/pods"},
		"/clusters/team":             {"team", "/"},
		"/clusters/":                 {"", "/"},
		"/clusters/*/apis":           {"*", "/apis"},
		"/clustersx/team/apis":       {"root", "/clustersx/team/apis"},
	} {
		if space, rest := Split(path); space != want[0] || rest != want[1] {
			t.Errorf("%s: %q %q", path, space, rest)
		}
	}
}

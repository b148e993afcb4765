package verify

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// made is a line of a script that makes a cluster. The name is the last word.
var made = regexp.MustCompile(`(?m)^(?:bg \S+ )?(?:cluster|testenv) up .*?(\S+)$`)

// TestScriptsShareNoClustersName: scripts run side by side on one machine, where a cluster's name is taken.
func TestScriptsShareNoClustersName(t *testing.T) {
	scripts, err := filepath.Glob(filepath.FromSlash("../../testenv/testdata/script/*.txt"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	owner := map[string]string{}
	for _, path := range scripts {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range made.FindAllSubmatch(text, -1) {
			name, script := string(line[1]), filepath.Base(path)
			if first, taken := owner[name]; taken && first != script {
				t.Errorf("%s and %s both make cluster %s: give one another name", first, script, name)
			}
			owner[name] = script
		}
	}
	if len(owner) == 0 {
		t.Error("no script makes a cluster: the pattern does not match any more")
	}
}

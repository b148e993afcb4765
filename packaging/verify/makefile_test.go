package verify

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMakeTakesRegexps holds make to what people write after RUN= and FOCUS=: make takes "$/" of a regexp for a
// variable of its own, and a test that is never selected is one that never fails.
func TestMakeTakesRegexps(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("there is no make")
	}
	const regexp = "TestA/script/(a|b)$/c$"
	for _, c := range []struct{ target, variable string }{
		{"systemd", "RUN"}, {"scenarios", "RUN"}, {"conformance", "FOCUS"}, {"corpus", "FOCUS"},
	} {
		cmd := exec.Command("make", "--no-print-directory", "-n", c.target, c.variable+"="+regexp)
		cmd.Dir = filepath.Join("..", "..")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("make -n %s: %v\n%s", c.target, err, out)
		}
		if !strings.Contains(string(out), "'"+regexp+"'") {
			t.Errorf("make %s %s='%s' runs another regexp:\n%s", c.target, c.variable, regexp, out)
		}
	}
}

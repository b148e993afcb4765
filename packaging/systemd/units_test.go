package systemd

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestUnitsAreHardened holds the exposure that systemd computes to 1.5 of 10.
func TestUnitsAreHardened(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	for _, unit := range []string{"skerry-center.service", "skerry-agent.service"} {
		text, err := fs.ReadFile(Units, unit)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), unit)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(analyze, "security", "--no-pager", "--offline=true", "--threshold=15", path).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
	}
}

package systemd

import (
	"os/exec"
	"testing"
)

// TestUnitsAreHardened holds the exposure that systemd computes to 1.5 of 10.
func TestUnitsAreHardened(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	for _, unit := range []string{"skerry-center.service", "skerry-agent.service"} {
		out, err := exec.Command(analyze, "security", "--no-pager", "--offline=true", "--threshold=15", "./"+unit).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", unit, err, out)
		}
	}
}

package placement

import (
	"strings"
	"testing"
)

// A long message keeps its end, which names the command that mends it.
func TestLongWordsKeepTheirEnd(t *testing.T) {
	const command = "kubectl annotate namespace skerry-spaces skerry.dev/center-"
	long := "begins" + strings.Repeat(" and goes on", 100) + ": " + command
	got := Words(long)
	if !strings.HasPrefix(got, "begins") || !strings.HasSuffix(got, command) || len(got) > maxWords+len(" ... ") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
	if short := "short: " + command; Words(short) != short {
		t.Errorf("a short one is %q", Words(short))
	}
}

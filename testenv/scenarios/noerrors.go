package scenarios

import (
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// noErrors is the script command noerrors.
func noErrors(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: noerrors LOG...")
	}
	for _, log := range args {
		if found := ownErrors(ts.ReadFile(log)); found != "" {
			ts.Fatalf("errors in %s:\n%s", log, found)
		}
	}
}

// ownErrors are the errors of a log that the program itself reports. Kubernetes' libraries also report
// what they try again, such as a watch that ends.
func ownErrors(log string) string {
	var b strings.Builder
	for line := range strings.Lines(log) {
		if strings.Contains(line, "level=ERROR") && !strings.Contains(line, "part=kubernetes") {
			b.WriteString(line)
		}
	}
	return b.String()
}

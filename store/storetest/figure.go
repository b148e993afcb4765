package storetest

import (
	"os"
	"testing"
)

// Figures reports whether tests measure time and memory: SKERRY_FIGURES=1 says that this process has
// the machine to itself. On a machine that does something else such a test fails for that.
func Figures() bool { return os.Getenv("SKERRY_FIGURES") == "1" }

// Figure skips a test that does nothing but measure, unless Figures. `make figures` runs them.
func Figure(t testing.TB) {
	t.Helper()
	if !Figures() {
		t.Skip("it measures time or memory: run make figures")
	}
}

// Package leak fails the tests of a package that leave goroutines behind.
//
//	func TestMain(m *testing.M) { leak.Main(m) }
//
// On a busy machine the last goroutines of a test need seconds to end. goleak alone gives up after
// half a second.
package leak

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines may take to end.
const patience = time.Minute

// Main runs the tests of a package and exits. It fails if goroutines are left after the tests have
// passed.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := find(patience, nil); err != nil {
			fmt.Fprintf(os.Stderr, "goleak: Errors on successful test run: %v\n", err)
			code = 1
		}
	}
	os.Exit(code)
}

// None fails a test if goroutines are left that are not known.
func None(t testing.TB, known ...goleak.Option) {
	t.Helper()
	if err := find(patience, known); err != nil {
		t.Error(err)
	}
}

// find waits until no goroutines are left. It returns which are left after its patience.
func find(patience time.Duration, known []goleak.Option) error {
	for end := time.Now().Add(patience); ; {
		if err := goleak.Find(known...); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// Package flaky has tests that fail as often as $FLAKY says in a file of each, in digits: the first
// run reads the first digit, and 1 is a failure.
package flaky

import (
	"os"
	"path/filepath"
	"testing"
)

func fail(t *testing.T) {
	file := filepath.Join(os.Getenv("FLAKY"), t.Name())
	plan, err := os.ReadFile(file)
	if err != nil || len(plan) == 0 {
		return // it passes from now on
	}
	if err := os.WriteFile(file, plan[1:], 0o600); err != nil {
		t.Fatal(err)
	}
	if plan[0] == '1' {
		t.Errorf("%s failed as planned", t.Name())
	}
}

func TestA(t *testing.T) { fail(t) }
func TestB(t *testing.T) { fail(t) }
func TestC(t *testing.T) { fail(t) }
func TestD(t *testing.T) { fail(t) }

func TestScripts(t *testing.T) {
	t.Run("script", func(t *testing.T) {
		t.Run("one", func(t *testing.T) { t.Parallel(); fail(t) })
		t.Run("two", func(t *testing.T) { t.Parallel(); fail(t) })
	})
}

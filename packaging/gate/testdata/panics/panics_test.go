// Package panics panics when its tests have passed.
package panics

import "testing"

func TestMain(m *testing.M) {
	m.Run()
	panic("after the tests")
}

func TestPasses(*testing.T) {}

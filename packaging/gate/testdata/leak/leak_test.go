// Package leak leaves a goroutine behind.
package leak

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLeak(*testing.T) {
	go func() { select {} }()
}

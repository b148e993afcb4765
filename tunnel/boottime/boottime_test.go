package boottime

import (
	"runtime"
	"testing"
	"time"
)

func TestNowRunsOn(t *testing.T) {
	a := Now()
	time.Sleep(2 * time.Millisecond)
	if b := Now(); b-a < 2*time.Millisecond || b-a > time.Minute {
		t.Errorf("2 ms later it is %v later", b-a)
	}
}

func TestIDIsOfTheBoot(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no boot id here")
	}
	if a, b := ID(), ID(); a == "" || a != b {
		t.Errorf("boot ids %q and %q", a, b)
	}
}

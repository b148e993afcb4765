package storetest

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// failing is a test that fails.
type failing struct {
	testing.TB
	said string
}

func (*failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	panic(f)
}

func TestEventually(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, looks := time.Now(), 0
		Eventually(t, "a minute is over", func() bool { looks++; return time.Since(began) > time.Minute })
		if took := time.Since(began); took > time.Minute+pollMost || looks > int(time.Minute/pollMost)+100 {
			t.Errorf("seen after %s and %d looks", took, looks)
		}
		f := &failing{}
		began = time.Now()
		func() {
			defer func() { _ = recover() }()
			Eventually(f, "never", func() bool { return false }, func() any { return time.Since(began) >= patience })
		}()
		if !strings.HasSuffix(f.said, "never\ntrue") {
			t.Errorf("it said %q", f.said)
		}
	})
}

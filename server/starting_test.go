package server

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A start that takes longer than 2 s says what it waits for, again and again; one that is quick
// says nothing.
func TestASlowStartSaysWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := newStarting(slog.New(slog.NewTextHandler(&out, nil)))
		s.on("the data")
		time.Sleep(quietStart - time.Millisecond)
		s.end()
		if out.Len() > 0 {
			t.Errorf("a quick start says %s", &out)
		}
		s = newStarting(slog.New(slog.NewTextHandler(&out, nil)))
		s.on("the data")
		time.Sleep(quietStart + time.Second)
		s.on("the spaces")
		time.Sleep(2 * startPause)
		s.end()
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 3 || !strings.Contains(lines[0], `"waits for"="the data" after=2s`) ||
			!strings.Contains(lines[2], `"waits for"="the spaces" after=12s`) {
			t.Errorf("a slow start says %s", &out)
		}
	})
}

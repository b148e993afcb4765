package leak

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { Main(m) }

// A goroutine that ends late is not left, and one that does not end is.
func TestNone(t *testing.T) {
	known := goleak.IgnoreCurrent()
	end := make(chan struct{})
	go leftBehind(end)
	if err := find(0, []goleak.Option{known}); err == nil || !strings.Contains(err.Error(), "leftBehind") {
		t.Errorf("a goroutine goes on: %v", err)
	}
	time.AfterFunc(time.Second, func() { close(end) }) // goleak alone has given up
	None(t, known)
}

func leftBehind(end chan struct{}) { <-end }

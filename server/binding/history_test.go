package binding_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// histories is how many are played; fewer under the race detector, as all is in one goroutine.
var histories = 20_000

// TestHistories plays random histories of users, sites, leaders and crashes, and checks every
// property at every write. SKERRY_HISTORIES says how many, SKERRY_SEED after which number;
// SKERRY_HISTORY replays one that the test has printed.
func TestHistories(t *testing.T) {
	if text := os.Getenv("SKERRY_HISTORY"); text != "" {
		h, err := parseHistory(text)
		if err != nil {
			t.Fatal(err)
		}
		if text := narrate(h); play(h, nil) != nil {
			t.Fatal(text)
		} else {
			t.Log(text)
		}
		return
	}
	n := histories
	if text := os.Getenv("SKERRY_HISTORIES"); text != "" {
		n, _ = strconv.Atoi(text)
	}
	seed, _ := strconv.ParseUint(os.Getenv("SKERRY_SEED"), 10, 64)
	if number, b := search(n, seed); b != nil {
		h, b := shrink(historyOf(number), b)
		t.Fatalf("%s: %s\nhistory %d, replay with SKERRY_HISTORY=%s\n%s", b.property, b.what, number, h, narrate(h))
	}
}

// history is a list of steps. Each means something in every world, so that any can be left out.
type history []uint32

// String is the form that SKERRY_HISTORY takes.
func (h history) String() string {
	parts := make([]string, len(h))
	for i, s := range h {
		parts[i] = strconv.FormatUint(uint64(s), 36)
	}
	return strings.Join(parts, ".")
}

func parseHistory(text string) (h history, err error) {
	for _, part := range strings.Split(text, ".") {
		n, err := strconv.ParseUint(part, 36, 32)
		if err != nil {
			return nil, err
		}
		h = append(h, uint32(n))
	}
	return h, nil
}

// random is a small generator: math/rand's would take most of the time.
type random uint64

func (r *random) next() uint32 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return uint32(z >> 32)
}

// historyOf is the history of a number: the same on every machine.
func historyOf(n uint64) history {
	r := random(n * 0x2545f4914f6cdd1d)
	h := make(history, 30+r.next()%170)
	for i := range h {
		h[i] = r.next()
	}
	return h
}

// search plays histories on all processors and returns the number of one that breaks a property: any,
// or the one that SKERRY_PROPERTY names.
func search(n int, first uint64) (uint64, *broken) {
	only := os.Getenv("SKERRY_PROPERTY")
	var at atomic.Uint64
	var found atomic.Pointer[broken]
	var which atomic.Uint64
	var running sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		running.Go(func() {
			for found.Load() == nil {
				i := at.Add(1)
				if i > uint64(n) {
					return
				}
				if b := play(historyOf(first+i), nil); b != nil && (only == "" || b.property == only) && found.CompareAndSwap(nil, b) {
					which.Store(first + i)
				}
			}
		})
	}
	running.Wait()
	if b := found.Load(); b != nil {
		return which.Load(), b
	}
	return 0, nil
}

// shrink leaves out steps as long as the same property breaks.
func shrink(h history, b *broken) (history, *broken) {
	for size := len(h) / 2; size > 0; {
		smaller := false
		for i := 0; i+size <= len(h); {
			try := append(append(history{}, h[:i]...), h[i+size:]...)
			if again := play(try, nil); again != nil && again.property == b.property {
				h, b, smaller = try, again, true
			} else {
				i += size
			}
		}
		if !smaller {
			size /= 2
		}
	}
	return h, b
}

// narrate tells a history step by step.
func narrate(h history) string {
	var out strings.Builder
	b := play(h, func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) })
	if b != nil {
		fmt.Fprintf(&out, "BROKEN %s: %s", b.property, b.what)
	}
	return out.String()
}

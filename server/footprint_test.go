package server

import "testing"

// The heap of a calm center may grow little, that of a busy one as much as it was started with.
func TestHeapGrowsWithWhatIsAllocated(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		rate float64
		live uint64
		want int
	}{
		{0, 0, calmPercent},
		{0, 100 * mib, calmPercent},
		{1 * mib, 100 * mib, calmPercent},
		{2 * mib, 100 * mib, 30},
		{3 * mib, 100 * mib, 45},
		{100 * mib, 100 * mib, 50},
		{1 * mib, 0, 50},
	} {
		if got := percentage(c.rate, c.live, 50); got != c.want {
			t.Errorf("%.0f bytes a second with %d in use: %d %%, want %d", c.rate, c.live, got, c.want)
		}
	}
}

package backoff

import (
	"testing"
	"time"
)

func TestWaitsDoubleUpToALimit(t *testing.T) {
	const first, limit = time.Second, time.Minute
	for failures, most := range map[int]time.Duration{1: first, 2: 2 * first, 6: 32 * first, 7: limit, 8: limit,
		64: limit, 1000: limit} {
		if is := whole(failures, first, limit); is != most {
			t.Errorf("failure %d: %s, want %s", failures, is, most)
		}
		for range 1000 {
			half, full := Half(failures, first, limit), Full(failures, first, limit)
			if half < most/2 || half > most || full <= 0 || full > most {
				t.Errorf("failure %d: half %s, full %s of %s", failures, half, full, most)
			}
		}
	}
}

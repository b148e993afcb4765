package exchange

import (
	"testing"

	"skerry.dev/skerry/tunnel"
)

// expecting is a stream that can be told how much is about to come.
type expecting struct {
	tunnel.Stream
	bytes int
}

func (e *expecting) Expect(bytes int) { e.bytes = bytes }

// A log that ends is expected at once, and one that is followed is not.
func TestAnswersAreExpected(t *testing.T) {
	for _, follow := range []bool{false, true} {
		near, far := pair(t)
		s := &expecting{Stream: near}
		go func() {
			_, _, _ = Read(far)
			far.Cancel()
		}()
		_, _ = RoundTrip(t.Context(), s, logOf(follow))
		if expected := s.bytes == tunnel.Answered; expected == follow {
			t.Errorf("follow %t: %d bytes are expected", follow, s.bytes)
		}
	}
}

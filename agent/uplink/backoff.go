package uplink

import (
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"time"

	"skerry.dev/skerry/agent/backoff"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/quic"
)

// Waits between two tries.
const (
	firstWait = 200 * time.Millisecond
	// silentWait is the longest wait while the parent is not heard. It is short, so that a link that
	// is back is used within seconds.
	silentWait = 3 * time.Second
	// longestWait is the longest wait when the parent answers and does not let this site in, or was
	// not heard for long.
	longestWait = 30 * time.Second
	// crowdedWait is the longest wait while the parent has no room. A thousand sites cost it little
	// then, and it has room soon.
	crowdedWait = 10 * time.Second
	// localWait is the longest wait where nothing leaves this machine.
	localWait   = time.Second
	longSilence = 5 * time.Minute
	// longestStranger is the longest wait between two dials of a parent that does not know this
	// site. A person has removed the site there, or has restored a backup from before it joined and
	// may notice.
	longestStranger = time.Hour
	strangerReason  = "TargetUnknown"
)

// fullJitter returns a random time up to firstWait*2^(failures-1), at most longest.
func fullJitter(failures int, longest time.Duration) time.Duration {
	return backoff.Full(failures, firstWait, longest)
}

// waitAfter returns how long to wait after a session or a dial ended with err. For a parent that
// has no room, failures counts how often in a row that was so. silent is how long nothing was heard
// of the parent.
func waitAfter(err error, failures int, silent time.Duration) time.Duration {
	var refused *tunnel.Refused
	switch {
	case errors.Is(err, tunnel.ErrRenewed), errors.Is(err, tunnel.ErrAgain):
		return 0
	case errors.As(err, &refused):
		after := refused.RetryAfter
		if refused.Reason == strangerReason {
			after = min(longestStranger, after<<min(failures-1, 10))
		}
		if after > 0 {
			return after + rand.N(after/2+1)
		}
		return longestWait/2 + fullJitter(failures, longestWait)
	case errors.Is(err, tunnel.ErrReplaced):
		return longestWait + rand.N(longestWait) // somebody else has this identity: do not fight for it
	case answered(err):
		return fullJitter(failures, longestWait)
	case quic.Crowded(err):
		return fullJitter(failures+1, crowdedWait)
	case local(err):
		return fullJitter(failures, localWait)
	case silent > longSilence:
		return fullJitter(failures, min(longestWait, max(silentWait, silent/100)))
	default:
		return fullJitter(failures, min(silentWait, max(shortestGap, silent/10)))
	}
}

// answered reports whether somebody was heard who is not the expected parent, or does not accept
// this site.
func answered(err error) bool {
	var alert tls.AlertError
	var certificate *tls.CertificateVerificationError
	return errors.Is(err, enroll.ErrWrongCA) || errors.Is(err, enroll.ErrEnded) || errors.Is(err, enroll.ErrClock) ||
		errors.As(err, &alert) ||
		errors.As(err, &certificate) ||
		quic.Answered(err)
}

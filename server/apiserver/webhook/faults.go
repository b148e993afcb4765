package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"
)

// late reports whether an error is about time.
func late(err error) bool {
	return errors.Is(err, errSlow) || errors.Is(err, context.DeadlineExceeded)
}

// hears notes that a target has answered.
func (s *serviceCaller) hears(target string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard[target] = time.Now()
}

// heardBefore reports whether a target has not answered since then.
func (s *serviceCaller) heardBefore(target string, then time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard[target].Before(then)
}

// isApart reports whether a target did not answer just now.
func (s *serviceCaller) isApart(target string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Before(s.apart[target])
}

// errSlow ends the wait for a site while there is another one.
var errSlow = errors.New("no connection in time")

// fault says in which way a call has failed, and remembers a site that did not answer.
func (s *serviceCaller) fault(b Backend, connected bool, err error) error {
	var unreached *Unreached
	switch {
	case errors.As(err, &unreached):
	case connected && errors.Is(err, context.DeadlineExceeded):
		unreached = &Unreached{Why: "pod " + b.Pod + " gave no answer in time"}
	case connected:
		unreached = &Unreached{Why: "pod " + b.Pod + ": " + err.Error()}
	case isTLS(err), late(err):
		unreached = &Unreached{Why: "pod " + b.Pod + ": " + err.Error()}
	default:
		unreached = &Unreached{Why: fmt.Sprintf(
			"pod %s closed the connection; check that it serves HTTPS at port %d (%v)",
			b.Pod, b.Port, err,
		)}
	}
	if unreached.Site == "" {
		unreached.Site = b.Place.Target
	}
	if !connected {
		s.mu.Lock()
		s.apart[b.Place.Target] = time.Now().Add(apart)
		s.mu.Unlock()
	}
	return unreached
}

// isTLS reports whether an error says itself what is wrong with the other side's TLS.
func isTLS(err error) bool {
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	return errors.As(err, &certificate) || errors.As(err, &record) || errors.As(err, &alert)
}

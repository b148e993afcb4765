package target

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// Reach follows whether the target answers: every request of every Client of an Access tells it. An answer that is a refusal is an answer, but
// one that does not know who asks is not.
type Reach struct {
	mu      sync.Mutex
	since   time.Time // when it began not to answer; zero while it does
	err     error
	changed chan struct{} // one slot
}

// errUnknown is what a Reach says of a target that does not accept the agent's credentials.
var errUnknown = errors.New("it does not accept the agent's credentials")

func newReach() *Reach { return &Reach{changed: make(chan struct{}, 1)} }

// Failing returns since when and why the target does not answer; false when it does.
func (r *Reach) Failing() (since time.Time, why error, failing bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.since, r.err, !r.since.IsZero()
}

// Changed receives when the target begins or ceases to answer.
func (r *Reach) Changed() <-chan struct{} { return r.changed }

// sent notes how a request went: the error of sending it, or the code of the answer.
func (r *Reach) sent(code int, err error) {
	if r == nil || errors.Is(err, context.Canceled) {
		return
	}
	if code == http.StatusUnauthorized {
		err = errUnknown
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if failing := !r.since.IsZero(); failing == (err != nil) {
		if failing {
			r.err = err
		}
		return
	}
	r.err, r.since = err, time.Time{}
	if err != nil {
		r.since = time.Now()
	}
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// Unreachable names why a target does not answer, as a reason of a condition, and what to look at.
func Unreachable(err error) (reason, advice string) {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var dns *net.DNSError
	var network net.Error
	switch {
	case errors.Is(err, errUnknown):
		return "Unauthorized", "give the agent a kubeconfig whose credentials the cluster accepts"
	case errors.As(err, &authority), errors.As(err, &name), errors.As(err, &invalid):
		return "CertificateInvalid", "the cluster's certificate, its names or this machine's clock are not what the kubeconfig expects"
	case errors.As(err, &dns):
		return "NameNotFound", "look at the server's name in the kubeconfig and at this machine's DNS"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "ConnectionRefused", "see whether the cluster's API server runs, and listens where the kubeconfig says"
	case errors.As(err, &network) && network.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return "Timeout", "look at the network between the agent and the cluster's API server, and at its load"
	default:
		return "Unreachable", "see whether the cluster's API server runs and can be reached from here"
	}
}

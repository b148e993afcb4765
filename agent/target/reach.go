package target

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Reach records whether the target answers. Every request of every Client of an Access counts. A
// refusal is an answer. A response that does not know who asks is none. Identify asks for what the
// agent may always see, so a refusal of that counts, too.
type Reach struct {
	mu      sync.Mutex
	silent  failing       // no request is answered
	refused failing       // Identify is refused
	changed chan struct{} // one slot
}

// failing is since when and why something fails; zero while it does not.
type failing struct {
	since time.Time
	err   error
}

// note records the outcome of a request that began at a time.
func (f *failing) note(began time.Time, err error) {
	switch {
	case err == nil:
		*f = failing{}
	case f.since.IsZero():
		*f = failing{began, err}
	default:
		f.err = err
	}
}

// Answers that count as none.
var (
	errUnknown    = errors.New("it does not accept the agent's credentials")
	errForbidden  = errors.New("it forbids the agent to see its namespaces")
	errOverloaded = errors.New("it refuses requests because it is overloaded")
	errBroken     = errors.New("it answers with errors of its own")
	errNoAPI      = errors.New("what answers there is no Kubernetes API")
)

func newReach() *Reach { return &Reach{changed: make(chan struct{}, 1)} }

// Failing returns since when and why the target does not answer; false when it does.
func (r *Reach) Failing() (since time.Time, why error, fails bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.nowLocked()
	return f.since, f.err, !f.since.IsZero()
}

// nowLocked is what fails at this moment.
func (r *Reach) nowLocked() failing {
	if r.silent.since.IsZero() {
		return r.refused
	}
	return r.silent
}

// Changed receives when the target begins or ceases to answer.
func (r *Reach) Changed() <-chan struct{} { return r.changed }

// sent records the outcome of a request that began at a time: the error of sending it, or the code
// of the answer.
func (r *Reach) sent(began time.Time, code int, err error) {
	if r == nil || errors.Is(err, context.Canceled) {
		return
	}
	if code == http.StatusUnauthorized {
		err = errUnknown
	}
	r.change(func() { r.silent.note(began, err) })
}

// identified records the outcome of Identify; sent records transport errors.
func (r *Reach) identified(began time.Time, err error) {
	if r == nil {
		return
	}
	if err = judge(err); err == nil || !errors.Is(err, errUnjudged) {
		r.change(func() { r.refused.note(began, err) })
	}
}

func (r *Reach) change(do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.nowLocked().since.IsZero()
	if do(); before == r.nowLocked().since.IsZero() {
		return
	}
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// errUnjudged is returned by judge for a response that is no answer at all.
var errUnjudged = errors.New("no answer")

// judge returns what an answer to Identify means.
func judge(err error) error {
	var status *apierrors.StatusError
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotServed), errors.Is(err, errNoSystem), errors.As(err, &syntax):
		return fmt.Errorf("%w: %w", errNoAPI, err)
	case !errors.As(err, &status):
		return errUnjudged
	}
	switch code := status.ErrStatus.Code; {
	case code == http.StatusForbidden:
		return fmt.Errorf("%w: %w", errForbidden, err)
	case code == http.StatusTooManyRequests:
		return fmt.Errorf("%w: %w", errOverloaded, err)
	case code >= http.StatusInternalServerError:
		return fmt.Errorf("%w: %w", errBroken, err)
	case code == http.StatusUnauthorized:
		return errUnjudged // known from sent
	default:
		return fmt.Errorf("%w: %w", errNoAPI, err)
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
	case errors.Is(err, errForbidden):
		return "Forbidden", "the rights of the agent were taken: bind its user or ServiceAccount to its ClusterRole again"
	case errors.Is(err, errOverloaded):
		return "Overloaded", "see what else asks so much of the cluster's API server"
	case errors.Is(err, errBroken):
		return "InternalError", "look at the log of the cluster's API server and at its etcd"
	case errors.Is(err, errNoAPI):
		return "NotKubernetes", "look at the server's address in the kubeconfig, and at what proxy is in between"
	case errors.As(err, &authority), errors.As(err, &name), errors.As(err, &invalid):
		return "CertificateInvalid",
			"the cluster's certificate, its names or this machine's clock are not what the kubeconfig expects"
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

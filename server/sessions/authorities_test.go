package sessions

import (
	"crypto/x509"
	"errors"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/enroll"
)

// fakeAuthorities go through the phases of a rotation. The bundle of a phase is one of its own;
// agents' certificates are those of the test.
type fakeAuthorities struct {
	mu     sync.Mutex
	is     v1alpha1.AuthoritiesStatus
	center *center
	more   []*authority // in the bundle beside the server's
	fail   error
}

func newFakeAuthorities(c *center) *fakeAuthorities {
	return &fakeAuthorities{center: c, is: v1alpha1.AuthoritiesStatus{Phase: v1alpha1.AuthoritiesStable, Generation: 1}}
}

func (f *fakeAuthorities) Authorities() v1alpha1.AuthoritiesStatus {
	bundle := f.Bundle()
	f.mu.Lock()
	defer f.mu.Unlock()
	is := f.is
	is.FormerNames = slices.Clone(is.FormerNames)
	is.Bundle, is.Authority = enroll.BundleName(bundle), enroll.AuthorityName(f.center.agents.cert)
	return is
}

func (f *fakeAuthorities) step(from, to v1alpha1.AuthoritiesPhase, do func()) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return f.fail
	}
	if f.is.Phase != from {
		return errors.New("another phase")
	}
	f.is.Phase, f.is.Since = to, metav1.Now()
	do()
	return nil
}

func (f *fakeAuthorities) Announce() error {
	return f.step(
		v1alpha1.AuthoritiesStable,
		v1alpha1.AuthoritiesAnnounced,
		func() { f.more = append(f.more, newAuthority(f.center.t)) },
	)
}

func (f *fakeAuthorities) Switch() error {
	return f.step(v1alpha1.AuthoritiesAnnounced, v1alpha1.AuthoritiesSwitched, func() { f.is.Generation++ })
}

func (f *fakeAuthorities) Retire() error {
	return f.step(v1alpha1.AuthoritiesSwitched, v1alpha1.AuthoritiesStable, func() { f.more = nil })
}

func (f *fakeAuthorities) KeepNames() error { return nil }

func (f *fakeAuthorities) ForgetNames(names ...string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.is.FormerNames = slices.DeleteFunc(f.is.FormerNames, func(n v1alpha1.FormerName) bool {
		return slices.Contains(names, n.Name)
	})
	return nil
}

func (f *fakeAuthorities) Bundle() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.center.server.pem()
	for _, a := range f.more {
		out = append(out, a.pem()...)
	}
	return out
}

func (f *fakeAuthorities) AgentCAs() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(f.center.agents.cert)
	return pool
}

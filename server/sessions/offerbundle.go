package sessions

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel"
)

// offerPause is how long an agent has to carry out a bundle before it is sent again.
const offerPause = 30 * time.Second

// offer is a bundle that was sent to an agent.
type offer struct {
	bundle string
	renew  bool
	at     time.Time
}

// offerAll sends the authorities of the moment to all agents that have others, or a certificate
// that is about to count no more.
func (srv *Server) offerAll() {
	is := srv.cfg.Authorities.Authorities()
	for _, s := range srv.current() {
		srv.offerNow(s, is)
	}
}

func (srv *Server) offer(s *session) { srv.offerNow(s, srv.cfg.Authorities.Authorities()) }

func (srv *Server) offerNow(s *session, is v1alpha1.AuthoritiesStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds == nil {
		return // it speaks of no credentials: it takes no orders about them
	}
	next := offer{
		bundle: is.Bundle,
		renew:  is.Phase == v1alpha1.AuthoritiesSwitched && s.holds.Authority != is.Authority,
		at:     time.Now(),
	}
	if s.holds.Bundle == next.bundle && !next.renew {
		return
	}
	if s.offered.bundle == next.bundle && s.offered.renew == next.renew && next.at.Sub(s.offered.at) < offerPause {
		return
	}
	if s.commands.Put(
		tunnel.Bundle{PEM: srv.cfg.Authorities.Bundle(), Renew: next.renew},
	) { // else it is behind with its orders: later
		s.offered = next
	}
}

// hold notes what an agent says that it holds.
func (s *session) hold(h tunnel.CredentialStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds = &h
}

// identity is what the status says of the credentials; nil leaves it as it is.
func (s *session) identity() *v1alpha1.SyncTargetIdentity {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds == nil {
		return nil
	}
	return &v1alpha1.SyncTargetIdentity{
		CertificateUntil: metav1.NewTime(s.holds.Until.Truncate(time.Second)),
		Authority:        s.holds.Authority,
		Bundle:           s.holds.Bundle,
	}
}

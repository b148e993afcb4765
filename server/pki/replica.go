package pki

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
)

// replicaLife is how long the certificate of a replica lives. A new one is issued at two thirds of
// that, and when another generation signs.
const replicaLife = time.Hour

// ErrReplica is returned to a peer that is no replica of this center.
var ErrReplica = errors.New("not a replica of this center")

// Replica is by what the replicas of a center know each other: a certificate that each issues to
// itself, since all have the center's authorities. Its key is kept nowhere. It names the center as
// a whole, and no host, user or target, and it is of the authority of the center's own
// certificate, which signs neither people nor agents.
type Replica struct {
	pki  *PKI
	name *url.URL

	mu   sync.Mutex
	cert *tls.Certificate
	of   trusted // what it was issued for
}

// Replica returns the identity of a replica of a center.
func (p *PKI) Replica(center store.Incarnation) *Replica {
	return &Replica{
		pki:  p,
		name: &url.URL{Scheme: "skerry", Host: center.String(), Path: "/replica"},
	}
}

// Server is the TLS configuration of who accepts replicas, and nobody else.
func (r *Replica) Server() *tls.Config {
	c := r.config(x509.ExtKeyUsageClientAuth)
	c.ClientAuth, c.SessionTicketsDisabled = tls.RequireAnyClientCert, true
	c.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return r.certificate() }
	return c
}

// Client is the TLS configuration of who dials another replica. The peer's name is compared, and
// not the host's.
func (r *Replica) Client() *tls.Config {
	c := r.config(x509.ExtKeyUsageServerAuth)
	c.InsecureSkipVerify = true // VerifyConnection verifies
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return r.certificate()
	}
	return c
}

// config is what both sides have in common. peer is what the peer's certificate has to be for.
func (r *Replica) config(peer x509.ExtKeyUsage) *tls.Config {
	return &tls.Config{
		MinVersion:       tls.VersionTLS13,
		NextProtos:       []string{tunnel.ReplicaALPN},
		VerifyConnection: func(c tls.ConnectionState) error { return r.verify(c, peer) },
	}
}

func (r *Replica) verify(c tls.ConnectionState, usage x509.ExtKeyUsage) error {
	if c.NegotiatedProtocol != tunnel.ReplicaALPN {
		return fmt.Errorf("%w: it speaks %.40q", ErrReplica, c.NegotiatedProtocol)
	}
	if len(c.PeerCertificates) != 1 {
		return fmt.Errorf("%w: it has %d certificates", ErrReplica, len(c.PeerCertificates))
	}
	cert := c.PeerCertificates[0]
	if len(cert.URIs) != 1 || cert.URIs[0].String() != r.name.String() ||
		len(cert.DNSNames)+len(cert.IPAddresses)+len(cert.EmailAddresses) > 0 {
		return fmt.Errorf(
			"%w: its certificate is that of %.80q, %.200q",
			ErrReplica,
			cert.Subject,
			cert.URIs,
		)
	}
	roots := r.pki.pool(func(g *generation) *authority { return g.server })
	options := x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{usage}}
	if _, err := cert.Verify(options); err != nil {
		return fmt.Errorf("%w: %w", ErrReplica, err)
	}
	return nil
}

// certificate is the certificate of the moment.
func (r *Replica) certificate() (*tls.Certificate, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.pki.trusts()
	if r.cert != nil && r.of == of && time.Now().Before(renewAt(r.cert.Leaf)) {
		return r.cert, nil
	}
	leaf, key, err := of.current.server.issue(&x509.Certificate{
		Subject: pkix.Name{
			CommonName: "skerry replica",
		}, URIs: []*url.URL{r.name}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}, replicaLife)
	if err != nil {
		return nil, fmt.Errorf("issue the certificate of this replica: %w", err)
	}
	r.cert, r.of = &tls.Certificate{
		Certificate: [][]byte{leaf.Raw},
		PrivateKey:  key,
		Leaf:        leaf,
	}, of
	return r.cert, nil
}

package pki

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"slices"
	"sync"
	"time"
)

// serverLife is how long the center's own certificate lives. A new one is issued at two thirds of
// that, and when another generation signs.
const serverLife = 365 * 24 * time.Hour

// Serving is the certificate by which the center is known. Its key is kept nowhere.
type Serving struct {
	pki   *PKI
	hosts []string

	mu     sync.Mutex
	cert   *tls.Certificate
	of     trusted // what it was issued for
	former []string
}

// Serving returns the certificate for host names and IP addresses, and for FormerNames.
func (p *PKI) Serving(hosts ...string) (*Serving, error) {
	s := &Serving{pki: p, hosts: hosts}
	_, err := s.Certificate(nil)
	return s, err
}

// Certificate returns the certificate of the moment; it is a tls.Config's GetCertificate.
func (s *Serving) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, former := s.pki.trusts(), s.pki.FormerNames()
	if s.cert != nil && s.of == of && slices.Equal(s.former, former) && time.Now().Before(renewAt(s.cert.Leaf)) {
		return s.cert, nil
	}
	cert, err := issueServer(of, slices.Concat(s.hosts, former))
	if err != nil {
		return nil, err
	}
	s.cert, s.of, s.former = cert, of, former
	return cert, nil
}

func renewAt(c *x509.Certificate) time.Time {
	return c.NotBefore.Add(c.NotAfter.Sub(c.NotBefore) * 2 / 3)
}

// issueServer issues a certificate whose chain holds all that somebody needs who knows an authority
// by its pin alone, or only the authority before this one.
func issueServer(of trusted, hosts []string) (*tls.Certificate, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "skerry center"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	leaf, key, err := of.current.server.issue(template, serverLife)
	if err != nil {
		return nil, err
	}
	cert := &tls.Certificate{Certificate: [][]byte{leaf.Raw, of.current.server.cert.Raw}, PrivateKey: key, Leaf: leaf}
	if of.old != nil {
		cert.Certificate = append(cert.Certificate, of.current.crossed.Raw, of.old.server.cert.Raw)
	}
	return cert, nil
}

package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/enroll"
)

// How long certificates live. An agent renews at two thirds of its life.
const (
	serverLife = 365 * 24 * time.Hour
	clientLife = 365 * 24 * time.Hour
	agentLife  = 30 * 24 * time.Hour
)

// ErrRequest is returned when a certificate request is not one that an agent may make.
var ErrRequest = errors.New("certificate request refused")

var targetName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// ServerCertificate issues a certificate for the host names and IP addresses, with a new key that is kept nowhere.
func (p *PKI) ServerCertificate(hosts ...string) (tls.Certificate, error) {
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "skerry center"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	cert, key, err := p.server.issue(template, serverLife)
	if err != nil {
		return tls.Certificate{}, err
	}
	// The CA goes along: a joining agent knows only its pin.
	return tls.X509KeyPair(append(cert, p.Bundle()...), key)
}

// ClientCertificate issues a client certificate for a person: cn is the user's name, orgs are the groups.
func (p *PKI) ClientCertificate(cn string, orgs ...string) (certPEM, keyPEM []byte, err error) {
	return p.client.issue(&x509.Certificate{Subject: pkix.Name{CommonName: cn, Organization: orgs}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, clientLife)
}

func (a *authority) issue(template *x509.Certificate, life time.Duration) (certPEM, privatePEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if certPEM, err = a.sign(template, key.Public(), life); err != nil {
		return nil, nil, err
	}
	privatePEM, err = keyPEM(key)
	return certPEM, privatePEM, err
}

// SignAgent issues a client certificate for the target name to the holder of the request's key. Of the request only the key counts: it
// must be signed by it (proof of possession), be ECDSA P-256, and ask for exactly the subject that it gets and for nothing else.
func (p *PKI) SignAgent(csr []byte, name string, center store.Incarnation) (chainPEM []byte, err error) {
	if !targetName.MatchString(name) {
		return nil, fmt.Errorf("%w: %q is not the name of a target: lower-case letters, digits and '-', at most 63", ErrRequest, name)
	}
	block, rest := pem.Decode(csr)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(rest) > 0 {
		return nil, fmt.Errorf("%w: not one PEM certificate request", ErrRequest)
	}
	req, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	if err := req.CheckSignature(); err != nil {
		return nil, fmt.Errorf("%w: no proof that the key is held: %w", ErrRequest, err)
	}
	if key, ok := req.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("%w: the key is not ECDSA P-256", ErrRequest)
	}
	subject := pkix.Name{CommonName: name, Organization: []string{enroll.Organization}}
	if req.Subject.String() != subject.String() {
		return nil, fmt.Errorf("%w: it asks for %q instead of %q", ErrRequest, req.Subject, subject)
	}
	if len(req.DNSNames)+len(req.EmailAddresses)+len(req.IPAddresses)+len(req.URIs) > 0 {
		return nil, fmt.Errorf("%w: it asks for further names", ErrRequest)
	}
	return p.agent.sign(&x509.Certificate{Subject: subject, URIs: []*url.URL{AgentURI(name, center)}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, req.PublicKey, agentLife)
}

// AgentURI is the name in an agent's certificate that is compared whole: the target and the center that it belongs to.
func AgentURI(name string, center store.Incarnation) *url.URL {
	return &url.URL{Scheme: "skerry", Host: center.String(), Path: "/targets/" + name}
}

package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/keyfile"
)

// clientLife is how long the certificate in the admin's kubeconfig lives.
const clientLife = 365 * 24 * time.Hour

// ErrRequest is returned when a certificate request is not one that an agent may make.
var ErrRequest = errors.New("certificate request refused")

var targetName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// ClientCertificate issues a client certificate for a person: cn is the user's name, orgs are the
// groups.
func (p *PKI) ClientCertificate(cn string, orgs ...string) (certPEM, keyPEM []byte, err error) {
	cert, key, err := p.signs().client.issue(&x509.Certificate{Subject: pkix.Name{CommonName: cn, Organization: orgs},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, clientLife)
	if err != nil {
		return nil, nil, err
	}
	keyPEM, err = keyfile.EncodeKey(key)
	return keyfile.EncodeCertificates(cert), keyPEM, err
}

func (a *authority) issue(
	template *x509.Certificate,
	life time.Duration,
) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	cert, err := a.sign(template, key.Public(), life)
	return cert, key, err
}

// SignAgent issues a client certificate for the target name to the holder of the request's key. Of
// the request only the key counts: it must be signed by it (proof of possession), be ECDSA P-256,
// and be, byte for byte, the request that an agent of that name makes for it.
func (p *PKI) SignAgent(csr []byte, name string, center store.Incarnation) (chainPEM []byte, err error) {
	if !targetName.MatchString(name) {
		return nil, fmt.Errorf(
			"%w: %q is not the name of a target: lower-case letters, digits and '-', at most 63",
			ErrRequest,
			name,
		)
	}
	req, err := keyfile.Request(csr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	if err := checkRequest(req, name); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	cert, err := p.signs().agent.sign(
		&x509.Certificate{Subject: enroll.Subject(name), URIs: []*url.URL{AgentURI(name, center)},
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
		req.PublicKey,
		p.agentLife,
	)
	if err != nil {
		return nil, err
	}
	return keyfile.EncodeCertificates(cert), nil
}

func checkRequest(req *x509.CertificateRequest, name string) error {
	if key, ok := req.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
		return errors.New("the key is not ECDSA P-256")
	}
	if err := req.CheckSignature(); err != nil {
		return fmt.Errorf("no proof that the key is held: %w", err)
	}
	if want := enroll.Subject(name); req.Subject.String() != want.String() {
		return fmt.Errorf("it asks for %q instead of %q", req.Subject, want)
	}
	want, err := enroll.RequestInfo(name, req.RawSubjectPublicKeyInfo)
	if err != nil {
		return err
	}
	if !bytes.Equal(req.RawTBSCertificateRequest, want) {
		return errors.New("it asks for more than a name, or in another form")
	}
	return nil
}

// AgentURI is the name in an agent's certificate that is compared whole: the target and the center
// that it belongs to.
func AgentURI(name string, center store.Incarnation) *url.URL {
	return &url.URL{Scheme: "skerry", Host: center.String(), Path: "/targets/" + name}
}

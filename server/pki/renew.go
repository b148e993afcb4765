package pki

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"fmt"
	"time"

	"skerry.dev/skerry/tunnel/keyfile"
)

// RenewedLife is how long a client certificate lives that its holder has renewed.
const RenewedLife = 90 * 24 * time.Hour

// RenewClient issues a certificate with the subject of peer, a person's client certificate that the
// center has verified, for the key of a PEM certificate request. Of the request only the key counts:
// it must be ECDSA P-256, and the request must be signed by it. An error matches ErrRequest if the
// request is wrong.
func (p *PKI) RenewClient(peer *x509.Certificate, csr []byte) (certPEM []byte, err error) {
	req, err := keyfile.Request(csr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	if key, ok := req.PublicKey.(*ecdsa.PublicKey); !ok || key.Curve != elliptic.P256() {
		return nil, fmt.Errorf("%w: the key is not ECDSA P-256", ErrRequest)
	}
	if err := req.CheckSignature(); err != nil {
		return nil, fmt.Errorf("%w: no proof that the key is held: %w", ErrRequest, err)
	}
	if !bytes.Equal(req.RawSubject, peer.RawSubject) {
		return nil, fmt.Errorf("%w: it asks for %q instead of %q", ErrRequest, req.Subject, peer.Subject)
	}
	cert, err := p.signs().client.sign(&x509.Certificate{
		RawSubject: peer.RawSubject, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, req.PublicKey, RenewedLife)
	if err != nil {
		return nil, err
	}
	return keyfile.EncodeCertificates(cert), nil
}

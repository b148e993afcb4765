package pki

import (
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel/keyfile"
)

// TestRenewClient: the holder of a certificate gets another one of the same subject, and no other.
func TestRenewClient(t *testing.T) {
	p, _ := load(t)
	first, _, err := p.ClientCertificate("skerry-admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	certs, err := keyfile.Certificates(first)
	if err != nil {
		t.Fatal(err)
	}
	peer, key := certs[0], newKey(t, elliptic.P256())
	renewed, err := p.RenewClient(peer, request(t, key, x509.CertificateRequest{RawSubject: peer.RawSubject}))
	if err != nil {
		t.Fatal(err)
	}
	if certs, err = keyfile.Certificates(renewed); err != nil {
		t.Fatal(err)
	}
	got := certs[0]
	if got.Subject.String() != peer.Subject.String() || !key.PublicKey.Equal(got.PublicKey) || got.IsCA {
		t.Errorf("renewed %s", got.Subject)
	}
	if life := time.Until(got.NotAfter); life > RenewedLife || life < RenewedLife-time.Minute {
		t.Errorf("it lives for %s", life)
	}
	if _, err := got.Verify(x509.VerifyOptions{Roots: p.ClientCAs(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Errorf("the center does not know it: %v", err)
	}

	weak, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	forged := request(t, key, x509.CertificateRequest{RawSubject: peer.RawSubject})
	forged[len(forged)/2] ^= 1
	for what, csr := range map[string][]byte{
		"another name": request(t, key, x509.CertificateRequest{Subject: pkix.Name{CommonName: "other",
			Organization: []string{"system:masters"}}}),
		"another group": request(t, key, x509.CertificateRequest{Subject: pkix.Name{CommonName: "skerry-admin",
			Organization: []string{"system:nodes"}}}),
		"an RSA key":    request(t, weak, x509.CertificateRequest{RawSubject: peer.RawSubject}),
		"another curve": request(t, newKey(t, elliptic.P384()), x509.CertificateRequest{RawSubject: peer.RawSubject}),
		"a forgery":     forged,
		"nothing":       nil,
	} {
		if _, err := p.RenewClient(peer, csr); !errors.Is(err, ErrRequest) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

package uplink

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"math/big"
	"net"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/keyfile"
)

// testCredentials are those of a site that has joined a center which is gone.
func testCredentials(t *testing.T) *enroll.Credentials {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	var ca *x509.Certificate
	sign := func(template *x509.Certificate, public any) *x509.Certificate {
		template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(
			1,
		), time.Now().Add(
			-time.Minute,
		), time.Now().Add(
			time.Hour,
		)
		parent := ca
		if parent == nil {
			parent = template
		}
		der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
		must(err)
		cert, err := x509.ParseCertificate(der)
		must(err)
		return cert
	}
	ca = sign(
		&x509.Certificate{
			Subject:               pkix.Name{CommonName: "ca"},
			IsCA:                  true,
			BasicConstraintsValid: true,
			KeyUsage:              x509.KeyUsageCertSign,
		},
		key.Public(),
	)
	leaf := sign(
		&x509.Certificate{
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		},
		key.Public(),
	)
	center := httptest.NewUnstartedServer(enroll.Handler(enroll.HandlerConfig{
		Bundle: func() []byte { return keyfile.EncodeCertificates(ca) }, Log: slog.New(slog.DiscardHandler),
		Redeem: func(_ context.Context, r enroll.JoinRequest) ([]byte, error) {
			req, err := keyfile.Request(r.CSR)
			if err != nil {
				return nil, err
			}
			return keyfile.EncodeCertificates(sign(&x509.Certificate{Subject: enroll.Subject(r.Name),
				URIs: []*url.URL{{Scheme: "skerry", Host: "center", Path: "/targets/" + r.Name}}}, req.PublicKey)), nil
		}}))
	center.TLS = &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Raw, ca.Raw}, PrivateKey: key}},
	}
	center.StartTLS()
	defer center.Close()
	credentials, err := enroll.Join(t.Context(), enroll.JoinConfig{Dir: t.TempDir(), Parent: center.URL, Name: "paris",
		Token: enroll.NewToken(
			enroll.Fingerprint(ca.RawSubjectPublicKeyInfo),
		).String(), Clock: enroll.NewClock(enroll.ClockState{}), Log: slog.New(slog.DiscardHandler)})
	must(err)
	return credentials
}

package tunneltest

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/enroll"
)

// Authority signs the certificates of a test.
type Authority struct {
	Cert *x509.Certificate
	// Life is how long what it issues is good, an hour if it is 0; negative for what has expired, at
	// least -1m.
	Life time.Duration
	key  *ecdsa.PrivateKey
}

// NewAuthority makes an authority with a key of its own.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &Authority{Cert: cert, key: key}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Pool trusts this authority alone.
func (a *Authority) Pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(a.Cert)
	return p
}

// Issue makes a key and a certificate for it. A template that does not say when it is good is good from
// a minute ago on, for as long as a.Life says.
func (a *Authority) Issue(t testing.TB, template *x509.Certificate) tls.Certificate {
	t.Helper()
	key := newKey(t)
	now := time.Now()
	template.SerialNumber = big.NewInt(2)
	if template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = now.Add(-time.Minute), now.Add(cmp.Or(a.Life, time.Hour))
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.Cert, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// Center is a center's own authority and the one of the agents that it admits.
type Center struct{ Server, Agents *Authority }

// NewCenter makes a center's authorities.
func NewCenter(t testing.TB) *Center {
	t.Helper()
	return &Center{NewAuthority(t, "server CA"), NewAuthority(t, "agent CA")}
}

// TLS returns the configuration of the center's listener, at any loopback address.
func (c *Center) TLS(t testing.TB) *tls.Config {
	t.Helper()
	cert := c.Server.Issue(
		t,
		&x509.Certificate{Subject: pkix.Name{CommonName: "center"}, DNSNames: []string{"localhost", "center.example"},
			IPAddresses: []net.IP{
				net.IPv4(127, 0, 0, 1),
				Loopback(),
				net.IPv6loopback,
			}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}},
	)
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}, ClientCAs: c.Agents.Pool(),
		ClientAuth: tls.RequireAndVerifyClientCert, NextProtos: []string{tunnel.ALPN}}
}

// Child returns the configuration of a child of this center, whose certificate an authority issues.
func (c *Center) Child(t testing.TB, by *Authority, organization, name string) *tls.Config {
	t.Helper()
	uri := &url.URL{Scheme: "skerry", Host: "00", Path: "/targets/" + name}
	cert := by.Issue(
		t,
		&x509.Certificate{
			Subject:     pkix.Name{CommonName: name, Organization: []string{organization}},
			URIs:        []*url.URL{uri},
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		},
	)
	return &tls.Config{
		Certificates: []tls.Certificate{cert},
		RootCAs:      c.Server.Pool(),
		NextProtos:   []string{tunnel.ALPN},
	}
}

// Site returns the configuration of the child called Target.
func (c *Center) Site(t testing.TB) *tls.Config {
	t.Helper()
	return c.Child(t, c.Agents, enroll.Organization, Target)
}

// Enrol writes the credentials of a site that has joined this center into a directory, as
// enroll.Join does.
func (c *Center) Enrol(t testing.TB, dir, name string) {
	t.Helper()
	cert := c.Child(t, c.Agents, enroll.Organization, name).Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		"agent.key": {Type: "PRIVATE KEY", Bytes: key}, "agent.crt": {Type: "CERTIFICATE", Bytes: cert.Certificate[0]},
		"ca.crt": {Type: "CERTIFICATE", Bytes: c.Server.Cert.Raw},
	} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

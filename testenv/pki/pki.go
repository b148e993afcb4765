// Package pki makes the certificate authority of one test cluster and the
// certificates and keys that its components read from files. It is for tests:
// nothing is renewed, everything is valid for thirty days.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const validity = 30 * 24 * time.Hour

// Authority is a certificate authority whose files are in a directory: ca.crt
// and ca.key, and NAME.crt and NAME.key for what it issues.
type Authority struct {
	dir  string
	cert *x509.Certificate
	key  crypto.Signer
}

// New makes an authority and writes its files.
func New(dir, name string) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	a := &Authority{dir: dir}
	var err error
	a.cert, a.key, err = a.sign("ca", template)
	return a, err
}

// Issue writes a certificate for serving at the hosts (addresses or names) and
// for being a client with this name and groups.
func (a *Authority) Issue(file, commonName string, groups []string, hosts ...string) error {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: commonName, Organization: groups},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	_, _, err := a.sign(file, template)
	return err
}

// WriteKey writes a private key that no certificate belongs to.
func (a *Authority) WriteKey(file string) error {
	_, err := newKey(filepath.Join(a.dir, file+".key"))
	return err
}

// CertificatePEM is the authority's own certificate.
func (a *Authority) CertificatePEM() []byte { return certificatePEM(a.cert) }

// sign makes a key and a certificate for it and writes both. Without a
// certificate of its own the authority signs itself.
func (a *Authority) sign(file string, template *x509.Certificate) (*x509.Certificate, crypto.Signer, error) {
	key, err := newKey(filepath.Join(a.dir, file+".key"))
	if err != nil {
		return nil, nil, err
	}
	template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	// The clocks of tests may be set back a little.
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().Add(validity)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, err
	}
	return cert, key, os.WriteFile(filepath.Join(a.dir, file+".crt"), certificatePEM(cert), 0o600)
}

func newKey(path string) (crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	block := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return key, errors.Join(err, os.WriteFile(path, block, 0o600))
}

func certificatePEM(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
}

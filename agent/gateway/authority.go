package gateway

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"skerry.dev/skerry/tunnel/keyfile"
)

// authority is the certificate authority of one agent's gateway. It signs nothing else.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// The life of certificates of the gateway. It begins long ago, because the clock of a board may be
// wrong until somebody has set it.
const (
	authorityLife = 30 * 365 * 24 * time.Hour
	servingLife   = 10 * 365 * 24 * time.Hour
)

var begins = time.Unix(0, 0)

// openAuthority reads the authority of a directory, and makes it the first time. One that cannot be
// read is an error: with another one no pod would trust the gateway before its next start.
func openAuthority(dir string) (*authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the gateway: %w", err)
	}
	keyPath, certPath := filepath.Join(dir, "ca.key"), filepath.Join(dir, "ca.crt")
	key, err := keyfile.ReadKey(keyPath)
	if errors.Is(err, os.ErrNotExist) {
		key, err = keyfile.MakeKey(keyPath)
	}
	if err != nil {
		return nil, fmt.Errorf("the key of the gateway (remove %s to make another one): %w", keyPath, err)
	}
	a := &authority{key: key}
	chain, err := keyfile.ReadCertificates(certPath)
	if err == nil && len(chain) == 1 && key.PublicKey.Equal(chain[0].PublicKey) {
		a.certificate = chain[0]
		return a, nil
	}
	if err := a.sign(); err != nil {
		return nil, err
	}
	if err := keyfile.Replace(certPath, a.bundle()); err != nil {
		return nil, fmt.Errorf("write the certificate of the gateway: %w", err)
	}
	return a, nil
}

// sign makes the authority's own certificate.
func (a *authority) sign() error {
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "skerry gateway of a site"},
		NotBefore: begins, NotAfter: time.Now().Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, a.key.Public(), a.key)
	if err == nil {
		a.certificate, err = x509.ParseCertificate(der)
	}
	if err != nil {
		return fmt.Errorf("make the certificate authority of the gateway: %w", err)
	}
	return nil
}

// bundle is what pods trust.
func (a *authority) bundle() []byte { return keyfile.EncodeCertificates(a.certificate) }

// serving returns a certificate for a host name and an address.
func (a *authority) serving(name string, address netip.Addr) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: name},
		DNSNames: []string{name}, IPAddresses: []net.IP{address.AsSlice()},
		NotBefore: begins, NotAfter: time.Now().Add(servingLife),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("make the certificate of the gateway: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

func serial() *big.Int {
	n, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)) // it never fails
	return n
}

package pki

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"errors"
	"math/big"
	"time"

	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/keyfile"
)

// AuthorityLife is how long an authority is valid.
const AuthorityLife = 10 * 365 * 24 * time.Hour

// skew is how far a clock that is behind may be without refusing a fresh certificate.
const skew = 5 * time.Minute

// authority is a certificate authority with its key.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// sign issues a certificate for a public key. Serial number, beginning and end are set here; it
// ends with the authority at the latest.
func (a *authority) sign(template *x509.Certificate, public any, life time.Duration) (*x509.Certificate, error) {
	var err error
	if template.SerialNumber, err = serial(); err != nil {
		return nil, err
	}
	now := time.Now()
	template.NotBefore, template.NotAfter = now.Add(-skew), now.Add(life)
	if template.NotAfter.After(a.cert.NotAfter) {
		template.NotAfter = a.cert.NotAfter
	}
	template.BasicConstraintsValid = true
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, public, a.key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// cross signs another authority's key, so that whoever trusts this authority trusts the other one
// too.
func (a *authority) cross(other *x509.Certificate) (*x509.Certificate, error) {
	return a.sign(
		&x509.Certificate{Subject: other.Subject, SubjectKeyId: other.SubjectKeyId, IsCA: true, MaxPathLenZero: true,
			KeyUsage: x509.KeyUsageCertSign},
		other.PublicKey,
		AuthorityLife,
	)
}

func serial() (*big.Int, error) {
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
}

// makeAuthority makes path.key and path.crt. Below the authority there may be one more, its
// successor.
func makeAuthority(path, name string) (*authority, error) {
	key, err := keyfile.MakeKey(path + ".key")
	if err != nil {
		return nil, err
	}
	spki, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, err
	}
	id, err := hex.DecodeString(enroll.Fingerprint(spki)[:40])
	if err != nil {
		return nil, err
	}
	number, err := serial()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: number, Subject: pkix.Name{
			CommonName: name,
		}, SubjectKeyId: id, NotBefore: now.Add(-skew), NotAfter: now.Add(AuthorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLen: 1, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{cert, key}, keyfile.Replace(path+".crt", keyfile.EncodeCertificates(cert))
}

func readAuthority(path string) (*authority, error) {
	cert, err := readCertificate(path + ".crt")
	if err != nil {
		return nil, err
	}
	key, err := keyfile.ReadKey(path + ".key")
	if err != nil {
		return nil, err
	}
	if !key.PublicKey.Equal(cert.PublicKey) {
		return nil, errors.New(path + ": .key and .crt do not belong together")
	}
	return &authority{cert, key}, nil
}

func readCertificate(path string) (*x509.Certificate, error) {
	certs, err := keyfile.ReadCertificates(path)
	if err != nil {
		return nil, err
	}
	if len(certs) != 1 || !certs[0].IsCA {
		return nil, errors.New(path + ": not one certificate of an authority")
	}
	return certs[0], nil
}

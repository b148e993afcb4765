package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// certificate writes a certificate that signs itself, and its key.
func certificate(args []string) error {
	if len(args) != 2 {
		return errors.New("want DIRECTORY NAME")
	}
	public, private, err := selfSigned(args[1])
	if err != nil {
		return err
	}
	return errors.Join(
		os.MkdirAll(args[0], 0o755),
		os.WriteFile(filepath.Join(args[0], "tls.crt"), public, 0o644),
		os.WriteFile(filepath.Join(args[0], "tls.key"), private, 0o600),
	)
}

// selfSigned makes a certificate that signs itself, for names, and its key, both as PEM.
func selfSigned(names ...string) (public, private []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	is := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: names[0]},
		DNSNames: names, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IsCA:        true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, is, is, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	bytes, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	encode := func(kind string, bytes []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes})
	}
	return encode("CERTIFICATE", der), encode("EC PRIVATE KEY", bytes), nil
}

package keyfile

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// Limits of what is decoded: far above what an honest side has.
const (
	MaxCertificates = 16
	MaxRequestBytes = 4 << 10
	maxBundleBytes  = 64 << 10
)

// Certificates decodes a chain or a bundle: PEM certificates and nothing else, at least one.
func Certificates(data []byte) ([]*x509.Certificate, error) {
	if len(data) > maxBundleBytes {
		return nil, fmt.Errorf("%d bytes of certificates, at most %d", len(data), maxBundleBytes)
	}
	var certs []*x509.Certificate
	block, rest := pem.Decode(data)
	for ; block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("a PEM block %q instead of a certificate", block.Type)
		}
		if len(certs) == MaxCertificates {
			return nil, fmt.Errorf("more than %d certificates", MaxCertificates)
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		certs = append(certs, cert)
	}
	if len(certs) == 0 || len(rest) > 0 {
		return nil, errors.New("not PEM certificates, or not only")
	}
	return certs, nil
}

// EncodeCertificates is the inverse of Certificates.
func EncodeCertificates(certs ...*x509.Certificate) []byte {
	var out []byte
	for _, c := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return out
}

// Request decodes one PEM certificate request. Its signature is not checked.
func Request(data []byte) (*x509.CertificateRequest, error) {
	if len(data) > MaxRequestBytes {
		return nil, fmt.Errorf("%d bytes, at most %d", len(data), MaxRequestBytes)
	}
	block, rest := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(rest) > 0 {
		return nil, errors.New("not one PEM certificate request")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}

// EncodeRequest returns a request's DER as PEM.
func EncodeRequest(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

// Key decodes one PEM private key, PKCS #8, ECDSA.
func Key(data []byte) (*ecdsa.PrivateKey, error) {
	block, rest := pem.Decode(data)
	if block == nil || block.Type != "PRIVATE KEY" || len(rest) > 0 {
		return nil, errors.New("not one PEM private key")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, err
	}
	ec, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("a key of type %T instead of ECDSA", key)
	}
	return ec, nil
}

// EncodeKey is the inverse of Key.
func EncodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

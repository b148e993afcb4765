package enroll

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/keyfile"
)

// Organization marks the subject of an agent's certificate.
const Organization = "skerry:targets"

// Subject is the subject of the certificate of the agent of a name.
func Subject(name string) pkix.Name {
	return pkix.Name{CommonName: name, Organization: []string{Organization}}
}

// IdentityOf reads who a verified agent certificate is for. The whole of subject and URI must say
// the same name.
func IdentityOf(cert *x509.Certificate) (tunnel.Identity, error) {
	name := cert.Subject.CommonName
	want, err := asn1.Marshal(Subject(name).ToRDNSequence())
	if err != nil || name == "" || !bytes.Equal(cert.RawSubject, want) || len(cert.URIs) != 1 ||
		cert.URIs[0].Scheme != "skerry" ||
		cert.URIs[0].Path != "/targets/"+name {
		return tunnel.Identity{}, fmt.Errorf("the certificate of %q is not an agent's", cert.Subject)
	}
	return tunnel.Identity{
		Target:   name,
		Key:      spkiPin(cert),
		Serial:   strings.ToLower(cert.SerialNumber.Text(16)),
		NotAfter: cert.NotAfter,
	}, nil
}

// requestInfo is a CertificationRequestInfo (RFC 2986) without attributes.
type requestInfo struct {
	Version    int
	Subject    pkix.RDNSequence
	PublicKey  asn1.RawValue
	Attributes []asn1.RawValue `asn1:"tag:0"`
}

// RequestInfo returns what an agent signs to get a certificate for its name and key
// (SubjectPublicKeyInfo, DER). It has the name in one form, and nothing that asks for more.
func RequestInfo(name string, spki []byte) ([]byte, error) {
	return asn1.Marshal(requestInfo{Subject: Subject(name).ToRDNSequence(), PublicKey: asn1.RawValue{FullBytes: spki}})
}

func requestFor(key *ecdsa.PrivateKey, name string) ([]byte, error) {
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: Subject(name)}, key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate request: %w", err)
	}
	return keyfile.EncodeRequest(der), nil
}

// Fingerprint returns the SHA-256, in hex, of a public key (SubjectPublicKeyInfo, DER). A token
// pins that of the center's CA. A site is known by its own.
func Fingerprint(spki []byte) string {
	sum := sha256.Sum256(spki)
	return hex.EncodeToString(sum[:])
}

func spkiPin(c *x509.Certificate) string { return Fingerprint(c.RawSubjectPublicKeyInfo) }

// nameBytes is how much of a hash names a bundle or an authority: enough to tell a center's own
// apart.
const nameBytes = 8

// BundleName names a set of authorities (PEM), whatever their order. It is empty when they cannot
// be read.
func BundleName(bundle []byte) string {
	certs, err := keyfile.Certificates(bundle)
	if err != nil {
		return ""
	}
	slices.SortFunc(certs, func(a, b *x509.Certificate) int { return bytes.Compare(a.Raw, b.Raw) })
	sum := sha256.Sum256(keyfile.EncodeCertificates(certs...))
	return hex.EncodeToString(sum[:nameBytes])
}

// AuthorityName names an authority, by its own certificate or by one that it has signed.
func AuthorityName(cert *x509.Certificate) string {
	id := cert.AuthorityKeyId
	if cert.IsCA {
		id = cert.SubjectKeyId
	}
	return hex.EncodeToString(id[:min(nameBytes, len(id))])
}

package enroll

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net/url"
	"testing"
	"time"
)

// An expired certificate of an agent passes, because it may renew, and one from the future, because
// it was signed here; nothing else that is wrong does.
func TestVerifyAgent(t *testing.T) {
	now := time.Now()
	newKey := func() *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	make509 := func(template, parent *x509.Certificate, public any, by *ecdsa.PrivateKey) *x509.Certificate {
		template.SerialNumber = big.NewInt(1)
		der, err := x509.CreateCertificate(rand.Reader, template, parent, public, by)
		if err != nil {
			t.Fatal(err)
		}
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		return cert
	}
	caKey, otherKey := newKey(), newKey()
	authority := func(key *ecdsa.PrivateKey) *x509.Certificate {
		c := &x509.Certificate{
			Subject:               pkix.Name{CommonName: "agents"},
			NotBefore:             now.Add(-1000 * time.Hour),
			NotAfter:              now.Add(1000 * time.Hour),
			IsCA:                  true,
			BasicConstraintsValid: true,
			KeyUsage:              x509.KeyUsageCertSign,
		}
		return make509(c, c, key.Public(), key)
	}
	ca, other := authority(caKey), authority(otherKey)
	pool := x509.NewCertPool()
	pool.AddCert(ca)
	for _, c := range []struct {
		name      string
		from, to  time.Duration
		usage     x509.ExtKeyUsage
		group     string
		stranger  bool
		wantError bool
	}{
		{"valid", -time.Hour, time.Hour, x509.ExtKeyUsageClientAuth, Organization, false, false},
		{"expired", -3 * time.Hour, -time.Hour, x509.ExtKeyUsageClientAuth, Organization, false, false},
		{"of a clock that was set back since", time.Hour, 2 * time.Hour, x509.ExtKeyUsageClientAuth,
			Organization, false, false},
		{"a server's", -time.Hour, time.Hour, x509.ExtKeyUsageServerAuth, Organization, false, true},
		{"a person's", -time.Hour, time.Hour, x509.ExtKeyUsageClientAuth, "system:masters", false, true},
		{"another authority's", -time.Hour, time.Hour, x509.ExtKeyUsageClientAuth, Organization, true, true},
		{"another authority's, expired", -3 * time.Hour, -time.Hour, x509.ExtKeyUsageClientAuth, Organization, true, true},
	} {
		signer, key := ca, caKey
		if c.stranger {
			signer, key = other, otherKey
		}
		leaf := make509(
			&x509.Certificate{
				Subject:   pkix.Name{CommonName: "a", Organization: []string{c.group}},
				NotBefore: now.Add(c.from),
				NotAfter:  now.Add(c.to),
				URIs: []*url.URL{
					{Scheme: "skerry", Host: "00", Path: "/targets/a"},
				},
				ExtKeyUsage: []x509.ExtKeyUsage{c.usage},
			},
			signer,
			newKey().Public(),
			key,
		)
		if err := VerifyAgent(leaf, pool); (err != nil) != c.wantError {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

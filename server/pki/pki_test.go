package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	mathrand "math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/enroll"
)

func load(t *testing.T) (*PKI, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "pki")
	p, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p, dir
}

func request(t *testing.T, key any, template x509.CertificateRequest) []byte {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &template, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}

func agentSubject(name string) pkix.Name {
	return pkix.Name{CommonName: name, Organization: []string{enroll.Organization}}
}

func TestLoadIsStableAndPrivate(t *testing.T) {
	p, dir := load(t)
	again, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if p.Pin() != again.Pin() || p.ResetKey() != again.ResetKey() || !p.AgentCA().Equal(again.AgentCA()) {
		t.Error("the second Load has other keys")
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", f.Name(), info.Mode(), err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory: mode %v, %v", info.Mode(), err)
	}
}

func TestDamageIsRefused(t *testing.T) {
	for _, file := range []string{"server-ca.crt", "agent-ca.key", serviceAccountFile, resetFile} {
		_, dir := load(t)
		if err := os.Remove(filepath.Join(dir, file)); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir); !errors.Is(err, ErrDamaged) {
			t.Errorf("without %s: %v", file, err)
		}
	}
	_, dir := load(t)
	_, other := load(t)
	key, err := os.ReadFile(filepath.Join(other, "client-ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "client-ca.key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); !errors.Is(err, ErrDamaged) {
		t.Errorf("with a foreign key: %v", err)
	}
}

func TestKindsOfCertificatesDoNotMix(t *testing.T) {
	p, _ := load(t)
	cert, _, err := p.ClientCertificate("alice", "team")
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(cert)
	alice, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	for ca, want := range map[*x509.Certificate]bool{p.ClientCA(): true, p.AgentCA(): false, p.ServerCA(): false} {
		roots := x509.NewCertPool()
		roots.AddCert(ca)
		_, err := alice.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		if (err == nil) != want {
			t.Errorf("a person's certificate under %s: %v", ca.Subject, err)
		}
	}
}

func TestHonestAgentsAreSigned(t *testing.T) {
	p, _ := load(t)
	center := store.NewIncarnation()
	for range 200 {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		chain, err := p.SignAgent(request(t, key, x509.CertificateRequest{Subject: agentSubject("paris")}), "paris", center)
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(chain)
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if cert.Subject.CommonName != "paris" || len(cert.URIs) != 1 || cert.URIs[0].String() != AgentURI("paris", center).String() {
			t.Fatalf("signed %v %v", cert.Subject, cert.URIs)
		}
	}
}

// TestForgedRequestsAreRefused tries 1,000 requests that are each wrong in one way, for a holder of a token for "paris".
func TestForgedRequestsAreRefused(t *testing.T) {
	p, _ := load(t)
	center := store.NewIncarnation()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	weak, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"paris2", "pari", "paris-", "PARIS", "paris.eu", "paris/x", "", "root", "system:masters", "paris\x00", "paris,CN=x"}
	ways := []func() []byte{
		func() []byte { // another name than the token's
			return request(t, key, x509.CertificateRequest{Subject: agentSubject(names[mathrand.IntN(len(names))])})
		},
		func() []byte { // more groups
			s := agentSubject("paris")
			s.Organization = append(s.Organization, "system:masters")
			return request(t, key, x509.CertificateRequest{Subject: s})
		},
		func() []byte { // another group
			return request(t, key, x509.CertificateRequest{Subject: pkix.Name{CommonName: "paris", Organization: []string{"system:masters"}}})
		},
		func() []byte { // further names
			return request(t, key, x509.CertificateRequest{Subject: agentSubject("paris"), DNSNames: []string{"center"}})
		},
		func() []byte {
			return request(t, key, x509.CertificateRequest{Subject: agentSubject("paris"), URIs: []*url.URL{AgentURI("tokyo", center)}})
		},
		func() []byte { // another kind of key
			return request(t, weak, x509.CertificateRequest{Subject: agentSubject("paris")})
		},
		func() []byte { // damaged: a flipped bit breaks the proof of possession or the encoding
			block, _ := pem.Decode(request(t, key, x509.CertificateRequest{Subject: agentSubject("paris")}))
			block.Bytes[mathrand.IntN(len(block.Bytes))] ^= 1 << mathrand.IntN(8)
			return pem.EncodeToMemory(block)
		},
		func() []byte { // two at once
			one := request(t, key, x509.CertificateRequest{Subject: agentSubject("paris")})
			return append(one, one...)
		},
	}
	for i := range 1000 {
		if chain, err := p.SignAgent(ways[i%len(ways)](), "paris", center); !errors.Is(err, ErrRequest) {
			t.Fatalf("forgery of kind %d was signed: %s %v", i%len(ways), chain, err)
		}
	}
}

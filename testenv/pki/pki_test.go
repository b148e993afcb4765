package pki

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"path/filepath"
	"testing"
)

func TestIssuedCertificateServes(t *testing.T) {
	dir := t.TempDir()
	ca, err := New(dir, "test-ca")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(ca.Issue("server", "kube-apiserver", []string{"group"}, "10.0.0.1",
		"kubernetes.default"), ca.WriteKey("other")); err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "server.crt"), filepath.Join(dir, "server.key"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca.CertificatePEM()) {
		t.Fatal("no certificate in the authority's PEM")
	}
	for host, want := range map[string]bool{"10.0.0.1": true, "kubernetes.default": true, "10.0.0.2": false,
		"kubernetes": false} {
		_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host})
		if (err == nil) != want {
			t.Errorf("host %s: %v", host, err)
		}
	}
	if pair.Leaf.Subject.CommonName != "kube-apiserver" || pair.Leaf.Subject.Organization[0] != "group" {
		t.Errorf("subject is %s", pair.Leaf.Subject)
	}
}

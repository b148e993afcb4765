package credential

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"skerry.dev/skerry/tunnel/keyfile"
)

// certified is a certificate and its key.
type certified struct {
	*x509.Certificate
	key *ecdsa.PrivateKey
}

// certify signs name's key by another one; nil signs itself. An authority may sign others.
func certify(t *testing.T, name string, isCA bool, key *ecdsa.PrivateKey, by *certified) *certified {
	t.Helper()
	if key == nil {
		var err error
		if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			t.Fatal(err)
		}
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: isCA,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	if !isCA {
		template.KeyUsage, template.IPAddresses = x509.KeyUsageDigitalSignature, []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.Certificate, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &certified{c, key}
}

// While a center replaces its authorities, who renews credentials learns of the new ones; nobody else
// can make them known.
func TestAuthoritiesAreLearned(t *testing.T) {
	old, next, stranger := certify(t, "ca 1", true, nil, nil), certify(t, "ca 2", true, nil, nil),
		certify(t, "ca 2", true, nil, nil)
	crossed := certify(t, "ca 2", true, next.key, old)
	leafOfOld, leafOfNext := certify(t, "center", false, nil, old), certify(t, "center", false, nil, next)
	for _, c := range []struct {
		what          string
		chain         []*certified
		before, after []*certified
	}{
		{"as ever", []*certified{leafOfOld, old}, []*certified{old}, []*certified{old}},
		{"being replaced", []*certified{leafOfNext, next, crossed, old}, []*certified{old}, []*certified{next, old}},
		{"replaced", []*certified{leafOfNext, next}, []*certified{next, old}, []*certified{next}},
		{"with a stranger's beside", []*certified{leafOfOld, old, stranger}, []*certified{old}, []*certified{old}},
		{"without its authority", []*certified{leafOfOld}, []*certified{old}, []*certified{old}},
		{"of a stranger", []*certified{certify(t, "center", false, nil, stranger), stranger}, []*certified{old},
			[]*certified{old}},
		{"of the system", []*certified{leafOfOld, old}, nil, nil},
	} {
		t.Run(c.what, func(t *testing.T) {
			s, _ := saved(t, 30*time.Minute, time.Hour)
			if c.before != nil {
				if err := s.SaveAuthorities(alices.Center, encoded(c.before)); err != nil {
					t.Fatal(err)
				}
			}
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusForbidden)
			}))
			shown := tls.Certificate{PrivateKey: c.chain[0].key}
			for _, one := range c.chain {
				shown.Certificate = append(shown.Certificate, one.Raw)
			}
			server.TLS = &tls.Config{Certificates: []tls.Certificate{shown}}
			server.StartTLS()
			defer server.Close()
			trusted := c.before
			if trusted == nil {
				trusted = []*certified{old}
			}
			center := &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: encoded(trusted)}}
			if _, err := given(t, s, center, 1); err != nil {
				t.Error(err)
			}
			got, err := os.ReadFile(s.Authorities(alices.Center))
			if c.before != nil { // the same for programs whose credentials the center does not renew
				if err := s.SaveAuthorities(alices.Center, encoded(c.before)); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					s.look(t.Context(), alices.Center, center)
				}
				if again, err := os.ReadFile(s.Authorities(alices.Center)); err != nil || !bytes.Equal(again, got) {
					t.Errorf("a look has %q, %v", again, err)
				}
			}
			if c.after == nil {
				if err == nil {
					t.Errorf("it holds %q", got)
				}
				return
			}
			if err != nil || !bytes.Equal(got, encoded(c.after)) {
				t.Errorf("%v, it holds %q", err, got)
			}
		})
	}
}

func encoded(all []*certified) []byte {
	var certs []*x509.Certificate
	for _, c := range all {
		certs = append(certs, c.Certificate)
	}
	return keyfile.EncodeCertificates(certs...)
}

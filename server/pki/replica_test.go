package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"math/big"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/keyfile"
)

// met is what came of a connection: what the server has read, and the error of each side.
type met struct {
	through        int
	client, server error
}

// meet has a client send a few bytes to a server.
func meet(t *testing.T, client, server *tls.Config) (m met) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	near, err := net.Dial("tcp", l.Addr().String())
	must(t, err)
	far, err := l.Accept()
	must(t, err)
	deadline := time.Now().Add(20 * time.Second)
	near.SetDeadline(deadline)
	far.SetDeadline(deadline)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer far.Close()
		s := tls.Server(far, server)
		if m.server = s.Handshake(); m.server == nil {
			var got []byte
			got, m.server = io.ReadAll(s)
			m.through = len(got)
		}
	}()
	c := tls.Client(near, client)
	if m.client = c.Handshake(); m.client == nil {
		if _, m.client = c.Write([]byte("hello")); m.client == nil {
			m.client = c.CloseWrite()
		}
		io.Copy(io.Discard, c)
	}
	near.Close()
	<-done
	return m
}

// with is a replica's client configuration with another certificate.
func with(r *Replica, cert tls.Certificate) *tls.Config {
	c := r.Client()
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return &cert, nil
	}
	return c
}

// strangers are certificates that are not a replica's.
func strangers(t *testing.T, p *PKI, center store.Incarnation) map[string]tls.Certificate {
	t.Helper()
	other, _ := load(t)
	uri := p.Replica(center).name
	template := func(uris ...*url.URL) *x509.Certificate {
		return &x509.Certificate{
			Subject:     pkix.Name{CommonName: "skerry replica"},
			URIs:        uris,
			KeyUsage:    x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		}
	}
	issued := func(a *authority, c *x509.Certificate, life time.Duration) tls.Certificate {
		leaf, key, err := a.issue(c, life)
		must(t, err)
		return tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key}
	}
	own := func(r *Replica) tls.Certificate {
		cert, err := r.certificate()
		must(t, err)
		return *cert
	}
	key := newKey(t, elliptic.P256())
	chain, err := p.SignAgent(
		request(t, key, x509.CertificateRequest{Subject: enroll.Subject("paris")}),
		"paris",
		center,
	)
	must(t, err)
	agent, err := keyfile.Certificates(chain)
	must(t, err)
	personPEM, personKey, err := p.ClientCertificate("skerry replica", "system:masters")
	must(t, err)
	person, err := tls.X509KeyPair(personPEM, personKey)
	must(t, err)
	serving, err := p.Serving("center")
	must(t, err)
	serves, err := serving.Certificate(nil)
	must(t, err)
	self := template(uri)
	self.SerialNumber, self.NotBefore, self.NotAfter = big.NewInt(
		1,
	), time.Now().
		Add(-time.Hour),
		time.Now().
			Add(time.Hour)
	selfKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	selfDER, err := x509.CreateCertificate(rand.Reader, self, self, selfKey.Public(), selfKey)
	must(t, err)
	named := template(uri)
	named.DNSNames = []string{"center"}
	onlyServer := template(uri)
	onlyServer.ExtKeyUsage = onlyServer.ExtKeyUsage[1:]
	onlyClient := template(uri)
	onlyClient.ExtKeyUsage = onlyClient.ExtKeyUsage[:1]
	longer := *uri
	longer.Path += "/more"
	signs := p.signs()
	return map[string]tls.Certificate{
		"an agent":                   {Certificate: [][]byte{agent[0].Raw}, PrivateKey: key},
		"a person":                   person,
		"the center's own":           *serves,
		"self-signed":                {Certificate: [][]byte{selfDER}, PrivateKey: selfKey},
		"expired":                    issued(signs.server, template(uri), -time.Minute),
		"of the agents' authority":   issued(signs.agent, template(uri), time.Hour),
		"of the people's authority":  issued(signs.client, template(uri), time.Hour),
		"without a name":             issued(signs.server, template(), time.Hour),
		"with two names":             issued(signs.server, template(uri, uri), time.Hour),
		"with a host's name":         issued(signs.server, named, time.Hour),
		"with a longer name":         issued(signs.server, template(&longer), time.Hour),
		"another center's":           own(other.Replica(center)),
		"another life of the center": own(p.Replica(store.NewIncarnation())),
		"another use":                issued(signs.server, onlyServer, time.Hour),
		"another use, as a server":   issued(signs.server, onlyClient, time.Hour),
	}
}

// Two replicas of a center know each other, and nobody else gets a byte through in either
// direction.
func TestOnlyReplicasMeet(t *testing.T) {
	p, dir := load(t)
	twin, err := reload(dir)
	must(t, err)
	center := store.NewIncarnation()
	one, two := p.Replica(center), twin.Replica(center)
	if m := meet(t, one.Client(), two.Server()); m.through != 5 || m.client != nil ||
		m.server != nil {
		t.Fatalf("two replicas: %+v", m)
	}
	for name, cert := range strangers(t, p, center) {
		if name != "another use, as a server" {
			if m := meet(t, with(one, cert), two.Server()); m.through != 0 || m.server == nil ||
				!strings.Contains(m.server.Error(), ErrReplica.Error()) {
				t.Errorf("a client that is %s: %+v", name, m)
			}
		}
		if name != "another use" {
			server := two.Server()
			server.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
				return &cert, nil
			}
			if m := meet(t, one.Client(), server); m.through != 0 || m.client == nil ||
				!strings.Contains(m.client.Error(), ErrReplica.Error()) {
				t.Errorf("a server that is %s: %+v", name, m)
			}
		}
	}
	none := one.Client()
	none.GetClientCertificate = nil
	if m := meet(t, none, two.Server()); m.through != 0 || m.server == nil {
		t.Errorf("without a certificate: %+v", m)
	}
	for _, protocols := range [][]string{nil, {"h2"}, {tunnel.ALPN}} {
		c := one.Client()
		c.NextProtos = protocols
		if m := meet(t, c, two.Server()); m.through != 0 || m.server == nil {
			t.Errorf("protocols %q: %+v", protocols, m)
		}
		s := two.Server()
		s.NextProtos = protocols
		if m := meet(t, one.Client(), s); m.through != 0 || m.client == nil {
			t.Errorf("protocols %q of the server: %+v", protocols, m)
		}
	}
	old := one.Client()
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	if m := meet(t, old, two.Server()); m.through != 0 || m.server == nil {
		t.Errorf("TLS 1.2: %+v", m)
	}
}

// Replicas meet throughout a rotation, also while one of them has not followed the last step.
func TestReplicasMeetDuringRotation(t *testing.T) {
	p, dir := load(t)
	late, err := reload(dir)
	must(t, err)
	center := store.NewIncarnation()
	one, two := p.Replica(center), late.Replica(center)
	for i, step := range []func() error{p.Announce, p.Switch, p.Retire} {
		must(t, step())
		for range 2 {
			a, b := meet(t, one.Client(), two.Server()), meet(t, two.Client(), one.Server())
			if a.through != 5 || b.through != 5 {
				t.Errorf("step %d: %+v, %+v", i, a, b)
			}
			must(t, late.Reload())
		}
	}
}

// A certificate of a replica is short-lived, and worth nothing to the API, to agents or to sites.
func TestReplicaCertificate(t *testing.T) {
	p, _ := load(t)
	r := p.Replica(store.NewIncarnation())
	cert, err := r.certificate()
	must(t, err)
	if again, err := r.certificate(); again != cert || err != nil {
		t.Error("a new one each time")
	}
	if life := time.Until(cert.Leaf.NotAfter); life > replicaLife {
		t.Errorf("it lives for %s", life)
	}
	pools := map[string]*x509.CertPool{"people": p.ClientCAs(), "agents": p.AgentCAs()}
	for name, pool := range pools {
		options := x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
		if _, err := cert.Leaf.Verify(options); err == nil {
			t.Errorf("it counts among %s", name)
		}
	}
	if cert.Leaf.VerifyHostname("center") == nil ||
		cert.Leaf.VerifyHostname("skerry replica") == nil {
		t.Error("it names a host")
	}
	must(t, p.Announce())
	must(t, p.Switch())
	if after, err := r.certificate(); after == cert || err != nil {
		t.Errorf("it is signed by what was replaced: %v", err)
	}
}

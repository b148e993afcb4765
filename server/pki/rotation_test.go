package pki

import (
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/keyfile"
)

// trusts reports whether somebody who trusts a bundle believes the center's certificate.
func trusts(t *testing.T, bundle []byte, s *Serving) bool {
	t.Helper()
	cert, err := s.Certificate(nil)
	must(t, err)
	roots, between := x509.NewCertPool(), x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	for _, der := range cert.Certificate[1:] {
		c, err := x509.ParseCertificate(der)
		must(t, err)
		between.AddCert(c)
	}
	_, err = cert.Leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, DNSName: "center",
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return err == nil
}

func agentCertificate(t *testing.T, p *PKI) *x509.Certificate {
	t.Helper()
	chain, err := p.SignAgent(
		request(t, newKey(t, elliptic.P256()), x509.CertificateRequest{Subject: enroll.Subject("paris")}),
		"paris",
		store.Incarnation{1},
	)
	must(t, err)
	certs, err := keyfile.Certificates(chain)
	must(t, err)
	return certs[0]
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Who trusts only the old authorities is served until they are retired, who has the bundle is
// served throughout, and the same holds for the certificates that they come with. Each step is
// there after a restart.
func TestRotationKeepsEverybody(t *testing.T) {
	p, dir := load(t)
	first := agentCertificate(t, p)
	old := p.Bundle()
	var both, last []byte
	for i, step := range []struct {
		do            func(*PKI) error
		phase         v1alpha1.AuthoritiesPhase
		generation    int64
		trusts, knows bool // the old authorities suffice; the first certificate is accepted
		authorities   int
	}{
		{func(*PKI) error { return nil }, v1alpha1.AuthoritiesStable, 1, true, true, 1},
		{(*PKI).Announce, v1alpha1.AuthoritiesAnnounced, 1, true, true, 2},
		{(*PKI).Switch, v1alpha1.AuthoritiesSwitched, 2, true, true, 2},
		{(*PKI).Retire, v1alpha1.AuthoritiesStable, 2, false, false, 1},
	} {
		serving, err := p.Serving("center")
		must(t, err)
		must(t, step.do(p))
		again, err := reload(dir)
		must(t, err)
		for name, is := range map[string]*PKI{"running": p, "restarted": again} {
			if name == "restarted" {
				serving, err = is.Serving("center")
				must(t, err)
			}
			st := is.Authorities()
			certs, err := keyfile.Certificates(is.Bundle())
			must(t, err)
			if st.Phase != step.phase || st.Generation != step.generation || len(certs) != step.authorities ||
				st.Bundle != enroll.BundleName(is.Bundle()) {
				t.Errorf("step %d, %s: %+v, %d authorities", i, name, st, len(certs))
			}
			if got := trusts(t, old, serving); got != step.trusts {
				t.Errorf("step %d, %s: with the old authorities alone: %t", i, name, got)
			}
			if !trusts(t, is.Bundle(), serving) {
				t.Errorf("step %d, %s: with the bundle of the moment the center is not trusted", i, name)
			}
			if got := enroll.VerifyAgent(first, is.AgentCAs()) == nil; got != step.knows {
				t.Errorf("step %d, %s: the first certificate is accepted: %t", i, name, got)
			}
			if fresh := agentCertificate(t, is); enroll.VerifyAgent(fresh, is.AgentCAs()) != nil ||
				enroll.AuthorityName(fresh) != st.Authority {
				t.Errorf("step %d, %s: a fresh certificate is not accepted", i, name)
			}
			if !pinned(t, serving, p.Pin()) {
				t.Errorf("step %d, %s: the pin of the moment is not in the chain", i, name)
			}
			if st.Phase == v1alpha1.AuthoritiesAnnounced {
				both = is.Bundle()
			}
			last = is.Bundle()
		}
		p = again
	}
	serving, err := p.Serving("center")
	must(t, err)
	if !trusts(t, both, serving) || !trusts(t, last, serving) {
		t.Error("who took the overlapping bundle is lost at the end")
	}
	if dirs, _ := filepath.Glob(filepath.Join(dir, "*ca-*")); len(dirs) != 1 {
		t.Errorf("keys that are left: %v", dirs)
	}
}

func pinned(t *testing.T, s *Serving, pin string) bool {
	cert, err := s.Certificate(&tls.ClientHelloInfo{})
	must(t, err)
	for _, der := range cert.Certificate[1:] {
		c, err := x509.ParseCertificate(der)
		must(t, err)
		if enroll.Fingerprint(c.RawSubjectPublicKeyInfo) == pin {
			return true
		}
	}
	return false
}

func TestStepsComeInOrder(t *testing.T) {
	p, _ := load(t)
	for _, step := range []func() error{
		p.Switch,
		p.Retire,
		p.Announce,
		p.Announce,
		p.Retire,
		p.Switch,
		p.Announce,
		p.Switch,
		p.Retire,
		p.Retire,
	} {
		err := step()
		if err != nil && !errors.Is(err, ErrPhase) {
			t.Fatal(err)
		}
	}
	if st := p.Authorities(); st.Generation != 2 || st.Phase != v1alpha1.AuthoritiesStable {
		t.Errorf("%+v", st)
	}
}

// A step that the disk refuses, or a crash that leaves half of it, changes nothing, and the step
// can be made again.
func TestHalfAStepIsNone(t *testing.T) {
	p, dir := load(t)
	before := p.Authorities()
	must(t, os.Mkdir(filepath.Join(dir, ".ca-123"), 0o700))
	must(t, os.Mkdir(filepath.Join(dir, "ca-2"), 0o700)) // made, and not in the state yet
	p, err := reload(dir)
	must(t, err)
	if left, _ := filepath.Glob(filepath.Join(dir, "*ca-*")); p.Authorities().Bundle != before.Bundle ||
		p.Authorities().Phase != before.Phase ||
		len(left) != 1 {
		t.Errorf("after a crash: %+v, files %v", p.Authorities(), left)
	}
	must(t, os.Rename(filepath.Join(dir, StateFile), filepath.Join(dir, "aside")))
	must(t, os.Mkdir(filepath.Join(dir, StateFile), 0o700)) // cannot be replaced by a file
	if err := p.Announce(); err == nil {
		t.Error("announced without a state")
	}
	must(t, os.Remove(filepath.Join(dir, StateFile)))
	must(t, os.Rename(filepath.Join(dir, "aside"), filepath.Join(dir, StateFile)))
	if now := p.Authorities(); now.Phase != before.Phase || now.Bundle != before.Bundle {
		t.Errorf("after a failed step: %+v", now)
	}
	must(t, p.Announce())
	again, err := reload(dir)
	must(t, err)
	if a, b := p.Authorities(), again.Authorities(); a.Bundle != b.Bundle || a.Phase != v1alpha1.AuthoritiesAnnounced {
		t.Errorf("%+v, after a restart %+v", a, b)
	}
}

package credential

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"time"

	"k8s.io/client-go/rest"

	"skerry.dev/skerry/tunnel/keyfile"
)

// learn stores the authorities that a center shows in a handshake which was verified with those before
// them. While a center replaces its authorities it shows the old and the new one, each vouched for by
// the other, and afterwards the new one alone: so a kubeconfig outlives the old one. A center without a
// file of authorities has certificates that the system knows.
func (s Store) learn(center string, shown *tls.ConnectionState) error {
	if shown == nil {
		return nil
	}
	before, err := os.ReadFile(s.Authorities(center))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	var now []*x509.Certificate
	for _, c := range shown.PeerCertificates {
		if isAuthority(c) && vouched(c, shown.VerifiedChains) {
			now = append(now, c)
		}
	}
	after := keyfile.EncodeCertificates(now...)
	if len(now) == 0 || bytes.Equal(before, after) {
		return nil
	}
	return s.SaveAuthorities(center, after)
}

// lookTime bounds how long a look at a center's authorities may take.
const lookTime = 3 * time.Second

// look learns the authorities of a center, once a day. It is for programs whose credentials the center
// does not renew. What fails is tried again the next day: the authorities before them still count.
func (s Store) look(ctx context.Context, center string, config *rest.Config) {
	stamp := s.Authorities(center) + ".checked"
	if info, err := os.Stat(stamp); err == nil && time.Since(info.ModTime()) < renewAfter {
		return
	}
	if os.WriteFile(stamp, nil, 0o600) != nil {
		return // also where there is no directory of the center
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return
	}
	defer client.CloseIdleConnections()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host, nil)
	if err != nil {
		return
	}
	resp, err := client.Do(r)
	if err != nil {
		return
	}
	resp.Body.Close()
	_ = s.learn(center, resp.TLS)
}

// isAuthority reports whether a certificate is an authority's own, which it has signed itself.
func isAuthority(c *x509.Certificate) bool {
	return c.IsCA && bytes.Equal(c.RawSubject, c.RawIssuer) && c.CheckSignatureFrom(c) == nil
}

// vouched reports whether the key of an authority signs in a chain that was verified.
func vouched(authority *x509.Certificate, chains [][]*x509.Certificate) bool {
	for _, chain := range chains {
		for _, c := range chain[1:] {
			if bytes.Equal(c.RawSubjectPublicKeyInfo, authority.RawSubjectPublicKeyInfo) &&
				bytes.Equal(c.RawSubject, authority.RawSubject) {
				return true
			}
		}
	}
	return false
}

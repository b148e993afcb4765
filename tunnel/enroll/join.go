package enroll

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// JoinConfig is what a site needs to join.
type JoinConfig struct {
	// Dir gets the credentials: agent.key, agent.crt, ca.crt, mode 0600.
	Dir string
	// Parent is https://HOST:PORT of the center.
	Parent string
	// Token is the text of the join token.
	Token  string
	Name   string
	Labels map[string]string
	Log    *slog.Logger
}

// Join uses a token to get a certificate, and keeps it in Dir. The key is made first and never leaves the machine; it is kept when the
// answer is lost, so that the center can recognize the same site when it tries again.
func Join(ctx context.Context, cfg JoinConfig) (*Credentials, error) {
	token, err := ParseToken(cfg.Token)
	if err != nil {
		return nil, err
	}
	endpoint, err := joinURL(cfg.Parent)
	if err != nil {
		return nil, err
	}
	key, err := loadOrMakeKey(cfg.Dir)
	if err != nil {
		return nil, err
	}
	csr, err := requestFor(key, cfg.Name)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(request{TokenID: token.ID, Secret: token.Secret, Name: cfg.Name, Labels: cfg.Labels, CSR: csr})
	if err != nil {
		return nil, err
	}
	out, err := post(ctx, endpoint, token.Pin, body)
	if err != nil {
		return nil, err
	}
	if err := checkBundle(out.Bundle, token.Pin); err != nil {
		return nil, err
	}
	return install(cfg.Dir, key, cfg.Name, out.Chain, out.Bundle)
}

func joinURL(parent string) (string, error) {
	u, err := url.Parse(parent)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("parent %q: write https://HOST:PORT", parent)
	}
	return "https://" + u.Host + Path, nil
}

// pinned trusts exactly the chains that end in the CA whose key has this pin, whatever name the server is reached by.
func pinned(pin string) func(tls.ConnectionState) (*x509.CertPool, error) {
	return func(s tls.ConnectionState) (*x509.CertPool, error) {
		for _, c := range s.PeerCertificates[1:] {
			if spkiPin(c) == pin && c.IsCA {
				roots := x509.NewCertPool()
				roots.AddCert(c)
				return roots, nil
			}
		}
		return nil, ErrWrongCA
	}
}

// verifying is a client configuration that verifies the server's chain against the roots that it is told for the connection, and not its
// name. Without time, a certificate counts whenever it is or was valid: that is only for asking the center what time it is.
func verifying(rootsOf func(tls.ConnectionState) (*x509.CertPool, error), withTime bool) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // VerifyConnection verifies: a center is reached by many names, its authority says who it is
		VerifyConnection: func(s tls.ConnectionState) error {
			roots, err := rootsOf(s)
			if err != nil {
				return err
			}
			leaf := s.PeerCertificates[0]
			at := time.Now()
			if !withTime {
				at = leaf.NotBefore.Add(time.Minute)
			}
			_, err = leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
			var invalid x509.CertificateInvalidError
			if errors.As(err, &invalid) && invalid.Reason == x509.Expired {
				return fmt.Errorf("the center's certificate is not valid at this machine's time: %w", err)
			} else if err != nil {
				return fmt.Errorf("%w: %w", ErrWrongCA, err)
			}
			return nil
		},
	}
}

func spkiPin(c *x509.Certificate) string { return Fingerprint(c.RawSubjectPublicKeyInfo) }

// post sends the request and tells the center's refusals and a wrong clock apart. The clock is compared before the token is sent, because
// a token is good for one try.
func post(ctx context.Context, endpoint, pin string, body []byte) (*answer, error) {
	if err := compareClocks(ctx, verifying(pinned(pin), false), endpoint); err != nil {
		return nil, err
	}
	client, done := clientFor(verifying(pinned(pin), true))
	defer done()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the center to join: %w", err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswerBytes))
	if err != nil {
		return nil, fmt.Errorf("read the center's answer: %w", err)
	}
	var out answer
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("the server at %s is no center of this version: HTTP %d, %.80q", endpoint, res.StatusCode, data)
	}
	if known := codes[out.Code]; known != nil {
		if _, detail, ok := strings.Cut(out.Message, known.Error()+": "); ok {
			return nil, fmt.Errorf("%w: %s", known, detail)
		}
		return nil, known
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the center refused: HTTP %d: %s", res.StatusCode, out.Message)
	}
	return &out, nil
}

// clientFor returns an HTTP client that follows no redirect, and the function that ends its connections.
func clientFor(config *tls.Config) (*http.Client, func()) {
	transport := &http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment}
	return &http.Client{Transport: transport, Timeout: 45 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, transport.CloseIdleConnections
}

// compareClocks asks the center for its time. It returns a *ClockError when the clocks are too far apart.
func compareClocks(ctx context.Context, config *tls.Config, endpoint string) error {
	client, done := clientFor(config)
	defer done()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("reach the center at %s: %w", endpoint, err)
	}
	res.Body.Close()
	theirs, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		return nil // it does not tell its time; TLS will say if ours is impossible
	}
	if offset := time.Since(theirs); offset > MaxClockOffset || offset < -MaxClockOffset {
		return &ClockError{offset}
	}
	return nil
}

func checkBundle(bundle []byte, pin string) error {
	certs, err := parseCertificates(bundle)
	if err != nil {
		return fmt.Errorf("the center's bundle: %w", err)
	}
	for _, c := range certs {
		if spkiPin(c) == pin {
			return nil
		}
	}
	return fmt.Errorf("%w: the bundle that it sent lacks the pinned CA", ErrWrongCA)
}

// Explain says what is really wrong when a dial to the parent failed: it asks the center's HTTPS port, which tells a wrong CA and a wrong
// clock apart from a network that does not let UDP through. It returns err, wrapped, when it learns nothing.
func (c *Credentials) Explain(ctx context.Context, parent string, err error) error {
	endpoint, uerr := joinURL(parent)
	if uerr != nil {
		return uerr
	}
	config := verifying(c.rootsOf, false)
	config.GetClientCertificate = c.certificate
	probe := compareClocks(ctx, config, endpoint)
	switch {
	case probe == nil:
		return fmt.Errorf("%w (the center answers HTTPS at %s, so UDP to the same port seems to be blocked)", err, endpoint)
	case errors.Is(probe, ErrWrongCA) || errors.Is(probe, ErrClock):
		return probe
	default:
		return fmt.Errorf("%w; %w", err, probe)
	}
}

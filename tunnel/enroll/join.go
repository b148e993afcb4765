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
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"skerry.dev/skerry/tunnel/keyfile"
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
	// Behind is what the center is told of the cluster.
	Behind Behind
	// Clock is what the credentials judge the parent's certificate by from then on.
	Clock *Clock
	// Dial opens the TCP connections, directly when it is nil. See package proxy.
	Dial Dial
	Log  *slog.Logger
}

// Dial opens a TCP connection to HOST:PORT.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Join uses a token to get a certificate, and keeps it in Dir. The key is made first and never
// leaves the machine. It survives a lost answer, so that the center recognizes the same site at the
// next try. A site that joins again keeps its key, unless that was revoked: then it gets another
// one.
func Join(ctx context.Context, cfg JoinConfig) (*Credentials, error) {
	token, err := ParseToken(cfg.Token)
	if err != nil {
		return nil, err
	}
	endpoint, err := joinURL(cfg.Parent)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	j := joining{cfg, token, endpoint}
	credentials, err := j.with(ctx, keyFile)
	if errors.Is(err, ErrRevoked) {
		credentials, err = j.with(ctx, newKeyFile)
	}
	if err != nil {
		return nil, err
	}
	return credentials, keyfile.Replace(filepath.Join(cfg.Dir, tokenFile), []byte(token.ID))
}

// JoinedWith reports whether a site joined with this token, as far as its directory says.
func JoinedWith(dir, text string) bool {
	token, err := ParseToken(text)
	if err != nil {
		return false
	}
	id, err := os.ReadFile(filepath.Join(dir, tokenFile))
	return err == nil && string(id) == token.ID
}

// joining is one use of a token.
type joining struct {
	JoinConfig
	token    Token
	endpoint string
}

// with joins with the key of a file of the directory, which is made when it is missing.
func (j joining) with(ctx context.Context, file string) (*Credentials, error) {
	key, err := keyfile.ReadKey(filepath.Join(j.Dir, file))
	if errors.Is(err, os.ErrNotExist) {
		key, err = keyfile.MakeKey(filepath.Join(j.Dir, file))
	}
	if err != nil {
		return nil, err
	}
	csr, err := requestFor(key, j.Name)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(
		request{TokenID: j.token.ID, Secret: j.token.Secret, Name: j.Name, Labels: j.Labels, CSR: csr},
	)
	if err != nil {
		return nil, err
	}
	out, err := post(ctx, j.Dial, j.endpoint, pinned(j.token.Pin), body, j.Behind)
	if err != nil {
		return nil, err
	}
	if err := checkBundle(out.Bundle, j.token.Pin); err != nil {
		return nil, err
	}
	c := &Credentials{dir: j.Dir, key: key, name: j.Name, clock: j.Clock}
	if err := c.Install(out.Chain, out.Bundle); err != nil {
		return nil, err
	}
	if file == keyFile {
		return c, nil
	}
	return c, keyfile.Rename(filepath.Join(j.Dir, file), filepath.Join(j.Dir, keyFile))
}

func joinURL(parent string) (string, error) {
	u, err := url.Parse(parent)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("parent %q: write https://HOST:PORT", parent)
	}
	return "https://" + u.Host + Path, nil
}

// pinned trusts exactly the chains that end in the CA whose key has this pin, whatever name the
// server is reached by.
func pinned(pin string) rootsOf {
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

// post sends the request, and distinguishes the center's refusals from a wrong clock. It compares
// clocks before it sends the token, because a token is good for one try.
func post(ctx context.Context, dial Dial, endpoint string, roots rootsOf, body []byte, behind Behind) (*answer, error) {
	if err := compareClocks(ctx, dial, verifying(roots, whenever), endpoint); err != nil {
		return nil, err
	}
	client, done := clientFor(dial, verifying(roots, byMachine))
	defer done()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	behind.write(req.Header)
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
		return nil, fmt.Errorf(
			"the server at %s is no center of this version: HTTP %d, %.80q",
			endpoint,
			res.StatusCode,
			data,
		)
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

// connectTime bounds a connection, and again its handshake. What is sent into an outage is repeated
// ever less often, so a fresh try finds its end sooner.
const connectTime = 10 * time.Second

// clientFor returns an HTTP client that follows no redirect, and the function that ends its
// connections.
func clientFor(dial Dial, config *tls.Config) (*http.Client, func()) {
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	connect := func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, connectTime)
		defer cancel()
		return dial(ctx, network, address)
	}
	transport := &http.Transport{TLSClientConfig: config, DialContext: connect, TLSHandshakeTimeout: connectTime}
	return &http.Client{Transport: transport, Timeout: 45 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		}}, transport.CloseIdleConnections
}

// compareClocks asks the center for its time. It returns a *ClockError when the clocks are too far
// apart.
func compareClocks(ctx context.Context, dial Dial, config *tls.Config, endpoint string) error {
	theirs, err := dateOf(ctx, dial, config, endpoint)
	if err != nil {
		return err
	}
	if theirs.IsZero() {
		return nil // it does not tell its time; TLS will say if ours is impossible
	}
	if offset := time.Since(theirs); offset > MaxClockOffset || offset < -MaxClockOffset {
		return &ClockError{offset}
	}
	return nil
}

// dateOf returns the time in the center's answer, zero when there is none.
func dateOf(ctx context.Context, dial Dial, config *tls.Config, endpoint string) (time.Time, error) {
	client, done := clientFor(dial, config)
	defer done()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, nil)
	if err != nil {
		return time.Time{}, err
	}
	res, err := client.Do(req)
	if err != nil {
		return time.Time{}, fmt.Errorf("reach the center at %s: %w", endpoint, err)
	}
	res.Body.Close()
	theirs, err := http.ParseTime(res.Header.Get("Date"))
	if err != nil {
		return time.Time{}, nil
	}
	return theirs, nil
}

func checkBundle(bundle []byte, pin string) error {
	certs, err := keyfile.Certificates(bundle)
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

// Explain finds out why a dial to the parent failed. It asks the center's HTTPS port. That
// distinguishes a wrong CA and an expired certificate from a network that blocks UDP. It returns
// err, wrapped, when it learns nothing.
func (c *Credentials) Explain(ctx context.Context, parent string, err error) error {
	endpoint, uerr := joinURL(parent)
	if uerr != nil {
		return uerr
	}
	config := verifying(c.rootsOf, c.clock.within)
	config.GetClientCertificate = c.certificate
	_, probe := dateOf(ctx, nil, config, endpoint)
	switch {
	case probe == nil:
		return fmt.Errorf(
			"%w (the center answers HTTPS at %s, so UDP to the same port seems to be blocked)",
			err,
			endpoint,
		)
	case errors.Is(probe, ErrWrongCA):
		c.knock(ctx, endpoint)
		return probe
	case errors.Is(probe, ErrEnded):
		return probe
	default:
		return fmt.Errorf("%w; %w", err, probe)
	}
}

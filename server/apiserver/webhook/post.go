package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode"
)

// maxSaid bounds what is kept of the text of an answer, in bytes.
const maxSaid = 256

// Endpoint is a webhook that is no admission webhook: a URL, or a path of a Service.
type Endpoint struct {
	URL     string
	Service *Service
	Path    string
	// CABundle is what its certificate is verified with, in PEM; empty for the center's own trust.
	CABundle []byte
}

// Post posts JSON to a webhook of a space, with an idempotency key, as its admission webhooks are
// called: as nobody, and only where the space may reach. It returns the status of the answer, which may
// be a redirect, and the beginning of its text as one line.
func (c *Callers) Post(ctx context.Context, to Endpoint, key string, body []byte) (int, string, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(to.CABundle) > 0 {
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM(to.CABundle) {
			return 0, "", errors.New("caBundle has no certificate in PEM")
		}
	}
	transport := &http.Transport{TLSClientConfig: trust, DialContext: c.cfg.Outbound.DialContext,
		DisableKeepAlives: true, TLSHandshakeTimeout: dialTime, MaxResponseHeaderBytes: maxHeaders}
	var rt http.RoundTripper = bounded{c.cfg.Outbound.Wrap(transport)}
	url := to.URL
	if to.Service != nil {
		trust.ServerName = to.Service.Name + "." + to.Service.Namespace + ".svc"
		rt = c.caller(*to.Service, transport)
		url = "https://" + to.Service.host() + "/" + strings.TrimPrefix(to.Path, "/")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, "", fmt.Errorf("make the request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", nobody().UserAgent)
	req.Header.Set("Idempotency-Key", key)
	client := http.Client{Transport: rt, Timeout: callTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, maxSaid))
	return resp.StatusCode, oneLine(said), nil
}

// oneLine is a text without control characters.
func oneLine(text []byte) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, string(text)))
}

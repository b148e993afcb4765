package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Errors of a connection through a proxy.
var (
	// ErrCredentials is returned when the proxy wants credentials, or others.
	ErrCredentials = errors.New("the proxy does not let this site through without the right credentials")
	// ErrUnreachable is returned when the proxy itself is not reached.
	ErrUnreachable = errors.New("reach the proxy")
	// ErrDenied is returned when the proxy does not connect to that address.
	ErrDenied = errors.New("the proxy does not connect there")
)

// maxAnswer bounds the head of a proxy's answer.
const maxAnswer = 16 << 10

// connect asks a proxy for a connection to an address.
func connect(ctx context.Context, u *url.URL, config *tls.Config, address string) (net.Conn, error) {
	conn, err := dialProxy(ctx, u, config)
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", ErrUnreachable, u.Redacted(), err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	through, err := ask(conn, u, address)
	if !stop() && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return through, nil
}

func dialProxy(ctx context.Context, u *url.URL, config *tls.Config) (net.Conn, error) {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	raw, err := dialer().DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil || u.Scheme != "https" {
		return raw, err
	}
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config = config.Clone()
	config.ServerName = u.Hostname()
	secure := tls.Client(raw, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, err
	}
	return secure, nil
}

// ask sends CONNECT and reads the answer.
func ask(conn net.Conn, u *url.URL, address string) (net.Conn, error) {
	request := "CONNECT " + address + " HTTP/1.1\r\nHost: " + address + "\r\nUser-Agent: skerry\r\n"
	if u.User != nil {
		password, _ := u.User.Password()
		request += "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString(
			[]byte(u.User.Username()+":"+password),
		) + "\r\n"
	}
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		return nil, fmt.Errorf("ask the proxy %s: %w", u.Redacted(), err)
	}
	limited := &io.LimitedReader{R: conn, N: maxAnswer}
	reader := bufio.NewReader(limited)
	response, err := http.ReadResponse(reader, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return nil, fmt.Errorf("the proxy %s gives no answer that can be read: %w", u.Redacted(), err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, refusal(response, u, address)
	}
	if reader.Buffered() > 0 { // nobody speaks before the client's hello
		return nil, fmt.Errorf("the proxy %s sent more than its answer", u.Redacted())
	}
	return conn, nil
}

// refusal says what a refusal means and what to do.
func refusal(r *http.Response, u *url.URL, address string) error {
	switch {
	case r.StatusCode == http.StatusProxyAuthRequired && u.User == nil:
		return fmt.Errorf(
			"%w: %s wants some (HTTP 407); give them with --proxy "+
				"http://USER:PASSWORD@HOST:PORT, or in a file with --proxy-file",
			ErrCredentials,
			u.Redacted(),
		)
	case r.StatusCode == http.StatusProxyAuthRequired:
		return fmt.Errorf(
			"%w: %s does not accept those of --proxy or HTTPS_PROXY (HTTP 407); correct them",
			ErrCredentials,
			u.Redacted(),
		)
	case r.StatusCode == http.StatusForbidden:
		return fmt.Errorf(
			"%w: %s does not allow connections to %s (HTTP 403); allow CONNECT to it "+
				"there, or name the center in NO_PROXY",
			ErrDenied,
			u.Redacted(),
			address,
		)
	default:
		return fmt.Errorf("%w: %s could not connect to %s: HTTP %s", ErrDenied, u.Redacted(), address, r.Status)
	}
}

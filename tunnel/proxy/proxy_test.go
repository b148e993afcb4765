package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel/tunneltest"
)

func TestMain(m *testing.M) { leak.Main(m) }

const secret = "p%40ss"

// serve is a proxy that lets user:p@ss through and answers with what it was asked for.
func serve(t *testing.T, l net.Listener) string {
	t.Helper()
	var all sync.WaitGroup
	t.Cleanup(func() { l.Close(); all.Wait() })
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { answer(c) })
		}
	})
	return l.Addr().String()
}

func answer(c net.Conn) {
	defer c.Close()
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	credentials := "Basic " + base64.StdEncoding.EncodeToString([]byte("user:p@ss"))
	switch {
	case r.Method != http.MethodConnect:
		io.WriteString(c, "HTTP/1.1 405 No\r\n\r\n")
	case strings.HasPrefix(r.Host, "silent"):
		io.Copy(io.Discard, c)
	case strings.HasPrefix(r.Host, "endless"):
		for range 10_000 {
			if _, err := io.WriteString(c, "HTTP/1.1 200 "+strings.Repeat("x", 1000)); err != nil {
				return
			}
		}
	case r.Header.Get("Proxy-Authorization") != credentials:
		io.WriteString(c, "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
	case strings.HasPrefix(r.Host, "forbidden"):
		io.WriteString(c, "HTTP/1.1 403 Forbidden\r\n\r\n")
	default:
		io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		b := make([]byte, 5)
		io.ReadFull(c, b)
		io.WriteString(c, r.Host+" "+string(b))
	}
}

func listen(t *testing.T) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// through sends a word through a proxy. One that says nothing is given up soon.
func through(t *testing.T, d *Dialer, address string) (string, error) {
	t.Helper()
	patience := 2 * time.Minute
	if strings.HasPrefix(address, "silent:") {
		patience = 100 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	io.WriteString(c, "hello")
	b, err := io.ReadAll(c)
	return string(b), err
}

func TestThroughProxies(t *testing.T) {
	for _, v := range []string{"HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "HTTP_PROXY", "http_proxy"} {
		t.Setenv(v, "")
	}
	plain := serve(t, listen(t))
	center := tunneltest.NewCenter(t)
	config := center.TLS(t)
	config.ClientAuth, config.NextProtos = tls.NoClientCert, nil
	secure := serve(t, tls.NewListener(listen(t), config))
	file := filepath.Join(t.TempDir(), "proxy")
	if err := os.WriteFile(file, []byte("http://user:"+secret+"@"+plain+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	roots := &tls.Config{RootCAs: center.Server.Pool()}
	for _, c := range []struct {
		name    string
		config  Config
		env     map[string]string
		address string
		want    string // the answer, or a word of the error
		is      error
	}{
		{"plain", Config{URL: "http://user:" + secret + "@" + plain}, nil, "center:7443", "center:7443 hello", nil},
		{"TLS", Config{URL: "https://user:" + secret + "@" + secure, TLS: roots}, nil, "center:7443",
			"center:7443 hello", nil},
		{"file", Config{File: file}, nil, "center:7443", "center:7443 hello", nil},
		{"environment", Config{}, map[string]string{"HTTPS_PROXY": "http://user:" + secret + "@" + plain},
			"center:7443", "center:7443 hello", nil},
		{"no credentials", Config{URL: "http://" + plain}, nil, "center:7443", "--proxy-file", ErrCredentials},
		{"wrong credentials", Config{URL: "http://user:wrong@" + plain}, nil, "center:7443",
			"does not accept", ErrCredentials},
		{"forbidden", Config{File: file}, nil, "forbidden:1", "CONNECT", nil},
		{"silent", Config{File: file}, nil, "silent:1", "", context.DeadlineExceeded},
		{"endless", Config{File: file}, nil, "endless:1", "answer", nil},
		{"another TLS", Config{URL: "https://" + secure,
			TLS: &tls.Config{RootCAs: tunneltest.NewAuthority(t, "x").Pool()}}, nil, "center:7443", "reach the proxy", nil},
		{"nobody", Config{URL: "http://127.0.0.1:1"}, nil, "center:7443", "reach the proxy", nil},
	} {
		for k, v := range c.env {
			t.Setenv(k, v)
		}
		d, err := New(c.config)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if !d.Uses(c.address) {
			t.Errorf("%s: no proxy is used", c.name)
		}
		got, err := through(t, d, c.address)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) || c.is != nil && !errors.Is(err, c.is) ||
			c.is == nil && c.want == c.address+" hello" && err != nil {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
		if strings.Contains(got, "p@ss") || strings.Contains(got, secret) || strings.Contains(got, "wrong@") {
			t.Errorf("%s shows the password: %s", c.name, got)
		}
		for k := range c.env {
			t.Setenv(k, "")
		}
	}
}

func TestWithoutProxy(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	t.Setenv("NO_PROXY", "center.example,10.0.0.0/8")
	fromEnvironment, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	direct, err := New(Config{URL: Direct})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{"center.example:7443": false, "10.1.2.3:7443": false,
		"127.0.0.1:7443": false, "other.example:7443": true} {
		if got := fromEnvironment.Uses(address); got != want {
			t.Errorf("%s through a proxy: %t", address, got)
		}
		if direct.Uses(address) {
			t.Errorf("%s through a proxy although there is none", address)
		}
	}
}

func TestWrongURL(t *testing.T) {
	for _, u := range []string{"socks5://user:" + secret + "@x:1", "http://", "user:" + secret +
		"@proxy:3128", "http://user:%zz@x"} {
		if _, err := New(Config{URL: u}); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", u, err)
		}
	}
	if _, err := New(Config{File: "/nonexistent"}); err == nil {
		t.Error("a file that is missing")
	}
}

package enroll

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// center is a parent's half with one token, and an authority that signs whatever was redeemed.
type center struct {
	*httptest.Server
	ca      *x509.Certificate
	key     *ecdsa.PrivateKey
	token   Token
	refuse  error
	redeems atomic.Int32
}

func newCenter(t *testing.T, clock time.Duration) *center {
	t.Helper()
	c := &center{}
	var err error
	if c.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	now := time.Now().Add(clock)
	ca := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "ca"},
		NotBefore:             now.Add(-5 * time.Minute),
		NotAfter:              now.Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}
	c.ca = c.sign(t, ca, ca, &c.key.PublicKey)
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := c.sign(
		t,
		&x509.Certificate{
			SerialNumber: big.NewInt(2),
			NotBefore:    now.Add(-5 * time.Minute),
			NotAfter:     now.Add(30 * time.Minute),
			ExtKeyUsage: []x509.ExtKeyUsage{
				x509.ExtKeyUsageServerAuth,
			},
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		},
		c.ca,
		&leafKey.PublicKey,
	)
	c.token = NewToken(spkiPin(c.ca))
	handler := Handler(
		HandlerConfig{Redeem: func(_ context.Context, r JoinRequest) ([]byte, error) { return c.redeem(t, r) },
			Bundle: func() []byte { return certPEM(c.ca) }, Log: slog.New(slog.DiscardHandler)},
	)
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
		handler.ServeHTTP(w, r)
	}))
	c.TLS = &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Raw, c.ca.Raw}, PrivateKey: leafKey}},
	}
	c.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	c.StartTLS()
	t.Cleanup(c.Close)
	return c
}

func (c *center) sign(t *testing.T, template, parent *x509.Certificate, public any) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, c.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func (c *center) redeem(t *testing.T, r JoinRequest) ([]byte, error) {
	c.redeems.Add(1)
	if c.refuse != nil {
		return nil, c.refuse
	}
	if r.TokenID != c.token.ID || !SameHash(r.SecretHash, c.token.Hash()) {
		return nil, ErrTokenUnknown
	}
	block, _ := pem.Decode(r.CSR)
	req, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, err
	}
	cert := c.sign(
		t,
		&x509.Certificate{SerialNumber: big.NewInt(3), Subject: req.Subject, NotBefore: time.Now().Add(-time.Minute),
			NotAfter: time.Now().Add(
				time.Hour,
			), URIs: []*url.URL{{Scheme: "skerry", Host: "cafe", Path: "/targets/" + r.Name}}},
		c.ca,
		req.PublicKey,
	)
	return certPEM(cert), nil
}

func certPEM(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

func (c *center) join(t *testing.T, token string) (*Credentials, string, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "agent")
	creds, err := Join(
		t.Context(),
		JoinConfig{
			Dir:    dir,
			Parent: c.URL,
			Token:  token,
			Name:   "paris",
			Clock:  NewClock(ClockState{}),
			Log:    slog.New(slog.DiscardHandler),
		},
	)
	return creds, dir, err
}

func TestJoinAndLoad(t *testing.T) {
	c := newCenter(t, 0)
	if _, err := Load(t.TempDir(), NewClock(ClockState{})); !errors.Is(err, ErrNotEnrolled) {
		t.Errorf("Load of nothing: %v", err)
	}
	creds, dir, err := c.join(t, c.token.String())
	if err != nil {
		t.Fatal(err)
	}
	again, err := Load(dir, NewClock(ClockState{}))
	if err != nil {
		t.Fatal(err)
	}
	if creds.Name() != "paris" || again.Name() != "paris" || !again.NotAfter().Equal(creds.NotAfter()) {
		t.Errorf(
			"joined as %q until %s, loaded %q until %s",
			creds.Name(),
			creds.NotAfter(),
			again.Name(),
			again.NotAfter(),
		)
	}
	if early, late := creds.RenewAt(), creds.NotAfter(); !early.Before(late.Add(-15*time.Minute)) ||
		!early.After(time.Now()) {
		t.Errorf("renews at %s of a life until %s", early, late)
	}
	for _, f := range []string{keyFile, certFile, bundleFile} {
		if info, err := os.Stat(filepath.Join(dir, f)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", f, info.Mode(), err)
		}
	}
	config := again.TLS()
	config.NextProtos = nil // the test's center speaks HTTP only
	conn, err := tls.Dial("tcp", c.Listener.Addr().String(), config)
	if err != nil {
		t.Fatalf("the credentials do not trust their center: %v", err)
	}
	conn.Close()
}

func TestRefusalsAreToldApart(t *testing.T) {
	for _, want := range []error{ErrTokenUnknown, ErrTokenUsed, ErrTokenExpired, ErrName, ErrLabels,
		ErrNameInUse, ErrRevoked} {
		c := newCenter(t, 0)
		c.refuse = fmt.Errorf("%w: and why", want)
		_, dir, err := c.join(t, c.token.String())
		if !errors.Is(err, want) || !Refused(err) || !strings.HasSuffix(err.Error(), ": and why") {
			t.Errorf("%v arrived as %v", want, err)
		}
		if _, err := Load(dir, NewClock(ClockState{})); !errors.Is(err, ErrNotEnrolled) {
			t.Errorf("after %v the site thinks it has joined: %v", want, err)
		}
	}
}

func TestWrongCenterGetsNoSecret(t *testing.T) {
	c, other := newCenter(t, 0), newCenter(t, 0)
	_, _, err := c.join(t, other.token.String())
	if !errors.Is(err, ErrWrongCA) || !strings.Contains(err.Error(), "join token") {
		t.Errorf("err = %v", err)
	}
	if n := c.redeems.Load(); n != 0 {
		t.Errorf("the token was sent %d times to a center that it is not for", n)
	}
	creds, _, err := c.join(t, c.token.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := creds.Explain(t.Context(), other.URL, errors.New("timeout")); !errors.Is(err, ErrWrongCA) {
		t.Errorf("Explain = %v", err)
	}
}

func TestClockOffByAnHour(t *testing.T) {
	for _, offset := range []time.Duration{time.Hour, -time.Hour} {
		c := newCenter(t, offset)
		_, _, err := c.join(t, c.token.String())
		var clock *ClockError
		if !errors.As(err, &clock) {
			t.Fatalf("center %s off: %v", offset, err)
		}
		if d := clock.Offset + offset; d > time.Minute || d < -time.Minute {
			t.Errorf("center %s off: the site thinks it is %s off", offset, clock.Offset)
		}
		if n := c.redeems.Load(); n != 0 {
			t.Errorf("the token was sent %d times although the clock is wrong", n)
		}
	}
}

func TestForgedTokens(t *testing.T) {
	c := newCenter(t, 0)
	for _, bad := range []string{"", "skt1", "skt2." + strings.TrimPrefix(c.token.String(), "skt1."),
		c.token.String() + "0", c.token.String()[1:],
		strings.ToUpper(c.token.String())} {
		if _, _, err := c.join(t, bad); !errors.Is(err, ErrTokenFormat) {
			t.Errorf("token %q: %v", bad, err)
		}
	}
	forged := NewToken(c.token.Pin)
	if _, _, err := c.join(t, forged.String()); !errors.Is(err, ErrTokenUnknown) {
		t.Errorf("a forged token: %v", err)
	}
}

func TestHandlerLimits(t *testing.T) {
	c := newCenter(t, 0)
	for body, want := range map[string]int{
		`{"name":"a","tokenID":"` + strings.Repeat("0", 1<<20) + `"}`:              http.StatusBadRequest,
		`{"name":"../etc","tokenID":"00000000","secret":"` + c.token.Secret + `"}`: http.StatusUnprocessableEntity,
		`{"name":"a","tokenID":"zz","secret":""}`:                                  http.StatusForbidden,
		`{"surprise":true}`: http.StatusBadRequest,
		`[`:                 http.StatusBadRequest,
	} {
		res, err := c.Client().Post(c.URL+Path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%.60s: HTTP %d instead of %d", body, res.StatusCode, want)
		}
	}
	if n := c.redeems.Load(); n != 0 {
		t.Errorf("%d of them were redeemed", n)
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add(NewToken(strings.Repeat("ab", 32)).String())
	f.Add("skt1...")
	f.Fuzz(func(t *testing.T, s string) {
		token, err := ParseToken(s)
		if err == nil && token.String() != strings.TrimSpace(s) {
			t.Errorf("%q parsed to %q", s, token.String())
		}
	})
}

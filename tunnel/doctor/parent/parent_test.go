package parent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel/doctor"
	"skerry.dev/skerry/tunnel/doctor/doctortest"
	"skerry.dev/skerry/tunnel/enroll"
	"skerry.dev/skerry/tunnel/proxy"
	"skerry.dev/skerry/tunnel/quic"
	"skerry.dev/skerry/tunnel/tunneltest"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestAllIsWell(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	doctortest.Alone(t, Checks(c.config()), "", "")
	joined := c.config()
	joined.Token, joined.Credentials = "", c.joined(0)
	doctortest.Alone(t, Checks(joined), "", "")
	r := doctor.New(joined.Version)
	if r.Run(t.Context(), "agent", Checks(joined)); r.Count(doctor.OK) != 8 {
		t.Errorf("not all 8 checks were made: %+v", r.Findings)
	}
	only := c.config()
	only.Token, only.Name = "", ""
	doctortest.Alone(t, Checks(only), "parent.admission", "token-missing")
}

func TestName(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	cfg := c.config()
	_, port, _ := net.SplitHostPort(c.at.Addr().String())
	cfg.Parents = []string{"https://nosuch.invalid:" + port}
	cfg.Lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
		return nil, &net.DNSError{Name: host, IsNotFound: true}
	}
	doctortest.Alone(t, Checks(cfg), "parent.name", "parent-name-unresolved")
	// Another address of the same parent works.
	cfg.Parents = append(cfg.Parents, c.url())
	if f := doctortest.Alone(t, Checks(cfg), "parent.name", "parent-name-unresolved"); f.Verdict != doctor.Warning {
		t.Errorf("%+v", f)
	}
	// A name may stand for several: the first that is reached is used.
	here := netip.MustParseAddrPort(c.at.Addr().String()).Addr()
	cfg.Parents = []string{"https://center.example:" + port}
	cfg.Lookup = func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.9"), here}, nil
	}
	doctortest.Alone(t, Checks(cfg), "", "")
	cfg.Lookup = func(context.Context, string) ([]netip.Addr, error) { return nil, &net.DNSError{IsTimeout: true} }
	doctortest.Alone(t, Checks(cfg), "parent.name", "dns-silent")
	cfg.Parents = []string{"http://user:pa55@center"}
	if f := doctortest.Alone(t, Checks(cfg), "parent.name", "parent-address-invalid"); strings.Contains(f.Why, "pa55") {
		t.Errorf("it shows a password: %s", f.Why)
	}
}

func TestUDP(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	c.path.Set(tunneltest.Faults{Cut: true})
	if f := doctortest.Alone(t, Checks(c.config()), "parent.udp", "udp-blocked"); f.Verdict != doctor.Warning {
		t.Errorf("it works over TCP: %+v", f)
	}
	for mtu, verdict := range map[int]doctor.Verdict{1160: doctor.Warning, 900: doctor.Failed} {
		c.path.Set(tunneltest.Faults{MTU: mtu})
		if f := doctortest.Alone(t, Checks(c.config()), "parent.udp", "mtu-hole"); f.Verdict != verdict {
			t.Errorf("MTU %d: %+v", mtu, f)
		}
	}
	c.path.Set(tunneltest.Faults{Loss: 0.3})
	doctortest.Alone(t, Checks(c.config()), "", "")
}

func TestTCP(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	blocked := Config{Parents: []string{c.url()}, Token: c.token.String(), Name: "paris"}
	c.at.Close() // UDP goes on
	doctortest.Alone(t, Checks(blocked), "parent.tcp", "tcp-blocked")
	l := tunneltest.ListenWhereUDPIsFree(t)
	l.Close()
	blocked.Parents = []string{"https://" + l.Addr().String()}
	doctortest.Alone(t, Checks(blocked), "parent.tcp", "nothing-listens")
	blocked.Parents = []string{"https://224.0.0.1:7443"} // no route leads TCP to a group
	doctortest.Alone(t, Checks(blocked), "parent.tcp", "no-route")
	blocked.Parents = []string{"https://" + deaf(t)}
	doctortest.Alone(t, Checks(blocked), "parent.tcp", "parent-silent")
}

// deaf is an address that answers neither TCP nor UDP: the kernel drops what asks for a connection while others wait
// to be accepted.
func deaf(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	at := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(name.(*unix.SockaddrInet4).Port)).String()
	for {
		c, err := net.DialTimeout("tcp", at, time.Second)
		if err != nil {
			return at
		}
		t.Cleanup(func() { c.Close() })
	}
}

// stall accepts TCP and says nothing.
func stall(t *testing.T) net.Addr {
	t.Helper()
	l := tunneltest.ListenWhereUDPIsFree(t)
	t.Cleanup(func() { l.Close() })
	return l.Addr() // the kernel accepts
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	c, other := newCenter(t), newCenter(t)
	c.path.Set(tunneltest.Faults{})
	cfg := c.config()
	cfg.Token = other.token.String()
	doctortest.Alone(t, Checks(cfg), "parent.identity", "token-other-center")
	cfg.Token, cfg.TokenErr = "", errors.New("file: not a join token")
	doctortest.Alone(t, Checks(cfg), "parent.identity", "token-invalid")
	cfg.TokenErr, cfg.Credentials = nil, other.joined(0)
	doctortest.Alone(t, Checks(cfg), "parent.identity", "center-replaced")
	for url, fault := range map[string]string{web(t, true): "wrong-ca", web(t, false): "no-center"} {
		cfg := c.config()
		cfg.Parents = []string{url}
		doctortest.Alone(t, Checks(cfg), "parent.identity", fault)
	}
}

func TestStalls(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	cfg := c.config()
	silent := stall(t)
	cfg.Parents = []string{"https://" + silent.String()}
	doctortest.Alone(t, Checks(cfg), "parent.identity", "tls-stalls")
	path := tunneltest.NewRelay(t, silent.String(), c.path.Addr())
	path.Set(tunneltest.Faults{MTU: 900})
	doctortest.Alone(t, Checks(cfg), "parent.identity", "mtu-hole")
}

func TestClock(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	for _, ahead := range []time.Duration{time.Hour, -time.Hour} {
		c.set(func() { c.ahead = ahead })
		doctortest.Alone(t, Checks(c.config()), "parent.clock", "clock-off")
	}
}

// What the center says of a token or of a site is named, and nothing is used up.
func TestAdmission(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	for err, fault := range map[error]string{
		enroll.ErrTokenUnknown: "token-unknown", enroll.ErrTokenUsed: "token-used",
		enroll.ErrTokenExpired: "token-expired", enroll.ErrName: "site-name-refused",
		enroll.ErrNameInUse: "site-name-in-use", enroll.ErrLabels: "site-labels-refused",
	} {
		c.set(func() { c.examine = func(enroll.JoinRequest) error { return err } })
		f := doctortest.Alone(t, Checks(c.config()), "parent.admission", fault)
		if secret := c.token.Secret; strings.Contains(f.Why+f.Fix, secret) {
			t.Errorf("it shows the token: %+v", f)
		}
	}
	joined := c.config()
	joined.Token, joined.Credentials = "", c.joined(0)
	for err, fault := range map[error]string{enroll.ErrRevoked: "site-revoked", enroll.ErrUnknownSite: "site-unknown"} {
		c.set(func() {
			c.examine = func(r enroll.JoinRequest) error {
				if key, err := enroll.ProvenKey(r.CSR); err != nil || key == "" || r.TokenID != "" || r.Name != "paris" {
					t.Errorf("examined %+v: %v", r, err)
				}
				return err
			}
		})
		doctortest.Alone(t, Checks(joined), "parent.admission", fault)
	}
	c.set(func() { c.examine = func(enroll.JoinRequest) error { return errors.New("disk") } })
	doctortest.Alone(t, Checks(joined), "", "") // not a fault of this site
}

// A center whose certificate has ended, though the clocks agree.
func TestCenterCertificate(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	joined := c.config()
	joined.Token, joined.Credentials = "", c.joined(0)
	ended := c.ca.Issue(t, &x509.Certificate{NotBefore: time.Now().Add(-50 * time.Minute),
		NotAfter: time.Now().Add(-20 * time.Minute), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	ended.Certificate = append(ended.Certificate, c.ca.Cert.Raw)
	c.set(func() { c.secure = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{ended}} })
	doctortest.Alone(t, Checks(c.config()), "parent.admission", "center-certificate-expired")
	doctortest.Alone(t, Checks(joined), "parent.admission", "center-certificate-expired")
}

func TestCertificateAndVersion(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	cfg := c.config()
	cfg.Token, cfg.Credentials = "", c.joined(-30*time.Second)
	doctortest.Alone(t, Checks(cfg), "parent.certificate", "certificate-expired")
	for version, fault := range map[string]string{"v1.5.0": "version-skew-newer", "v1.2.9": "version-skew-older",
		"v1.3.0": "", "v1.4.9": "", "unknown": "", "v2.0.0-rc1": "version-skew-newer"} {
		cfg := c.config()
		cfg.Version = version
		doctortest.Alone(t, Checks(cfg), "parent.version", fault)
	}
}

// gate is a proxy that answers every CONNECT with a code, and with 200 passes all to one address.
func gate(t *testing.T, code int, address string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code != http.StatusOK {
			w.WriteHeader(code)
			return
		}
		to, err := net.Dial("tcp", address)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer to.Close()
		from, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer from.Close()
		io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { io.Copy(to, from); to.Close() }()
		io.Copy(from, to)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestProxy(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	through := func(url string) Config {
		cfg := c.config()
		var err error
		if cfg.Proxy, err = proxy.New(proxy.Config{URL: url}); err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	// A name, because no proxy is used for addresses of loopback; the proxy looks it up.
	for code, fault := range map[int]string{http.StatusForbidden: "proxy-refuses", http.StatusBadGateway: "proxy-refuses",
		http.StatusProxyAuthRequired: "proxy-credentials"} {
		cfg := through(gate(t, code, ""))
		cfg.Parents = []string{"https://center.example:7443"}
		doctortest.Alone(t, Checks(cfg), "parent.tcp", fault)
	}
	works := through(gate(t, http.StatusOK, c.at.Addr().String()))
	works.Parents = []string{"https://center.example:7443"}
	doctortest.Alone(t, Checks(works), "", "")
	cfg := through("http://user:pa55@" + strings.TrimPrefix(closedURL(t), "http://"))
	cfg.Parents = []string{"https://center.example:7443"}
	if f := doctortest.Alone(t, Checks(cfg), "parent.tcp", "proxy-unreachable"); strings.Contains(f.Why, "pa55") {
		t.Errorf("it shows a password: %s", f.Why)
	}
}

func closedURL(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	return s.URL
}

func TestProbe(t *testing.T) {
	t.Parallel()
	c := newCenter(t)
	for mtu, want := range map[int]int{0: quic.FullPacket, 1199: 1152, 700: 552, 100: 64} {
		c.path.Set(tunneltest.Faults{MTU: mtu})
		if got, err := quic.Probe(t.Context(), c.path.Addr().String()); got != want || err != nil {
			t.Errorf("MTU %d: %d, %v, want %d", mtu, got, err, want)
		}
	}
}

package outbound

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"skerry.dev/skerry/tunnel/tunneltest"
)

// TestUnreachedTellsNothing asks for servers that cannot be reached for every reason that would
// tell a space of the networks around the center.
func TestUnreachedTellsNothing(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	_, port, _ := net.SplitHostPort(plain.Listener.Addr().String())
	for what, tc := range map[string]struct{ allow, host string }{
		"an address that is not dialled":     {"", plain.Listener.Addr().String()},
		"a name of such an address":          {"", "localhost:" + port},
		"a name without an address":          {"", "nothing.invalid:443"},
		"a name that cannot be":              {"", strings.Repeat("a", 70) + ".example.com:443"},
		"nobody listens":                     {"127.0.0.0/8", tunneltest.AnyPort()},
		"somebody listens who speaks no TLS": {"127.0.0.0/8", plain.Listener.Addr().String()},
	} {
		r := rules(t, tc.allow, "")
		c := http.Client{Transport: r.Wrap(&http.Transport{DialContext: r.DialContext, DisableKeepAlives: true})}
		_, err := c.Get("https://" + tc.host)
		var told *Unreached
		if !errors.As(err, &told) {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if want := `Get "https://HOST": ` + (&Unreached{"HOST"}).Error(); strings.ReplaceAll(
			err.Error(),
			tc.host,
			"HOST",
		) != want {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestUntrusted: who has given a wrong caBundle learns that, and no name that the certificate has.
func TestUntrusted(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	r := rules(t, "127.0.0.0/8 ::1", "")
	trusting := s.Client().Transport.(*http.Transport).TLSClientConfig
	for what, tc := range map[string]struct {
		transport *http.Transport
		url, want string
	}{
		"unknown authority": {&http.Transport{DialContext: r.DialContext}, s.URL, "caBundle does not have the authority"},
		"another name": {
			&http.Transport{DialContext: r.DialContext, TLSClientConfig: trusting},
			"https://localhost:" + port,
			"it is for another name",
		},
	} {
		c := http.Client{Transport: r.Wrap(tc.transport)}
		_, err := c.Get(tc.url)
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "example.com") ||
			strings.Contains(err.Error(), "Acme") {
			t.Errorf("%s: %v", what, err)
		}
		tc.transport.CloseIdleConnections()
	}
}

package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func rules(t *testing.T, allow, deny string) *Rules {
	t.Helper()
	a, err := Parse(strings.Fields(allow))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Parse(strings.Fields(deny))
	if err != nil {
		t.Fatal(err)
	}
	r := New(a, d)
	r.own = func() ([]net.Addr, error) {
		var out []net.Addr
		for _, n := range []string{"127.0.0.1/8", "10.0.0.5/24", "203.0.113.5/24", "2001:db8::5/64", "::1/128"} {
			ip, ipnet, err := net.ParseCIDR(n)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, &net.IPNet{IP: ip, Mask: ipnet.Mask})
		}
		return out, nil
	}
	return r
}

func TestRules(t *testing.T) {
	for _, tc := range []struct{ allow, deny, dialled, refused string }{
		{"", "", "1.1.1.1 203.0.113.6 2606:4700::1111 64:ff9b::101:101 ::ffff:1.1.1.1",
			"127.0.0.1 127.9.9.9 ::1 :: 0.0.0.0 169.254.169.254 fe80::1 fe80::1%eth0 ::ffff:169.254.169.254 ::ffff:127.0.0.1 fd00:ec2::254 100.100.100.200 168.63.129.16 " +
				"224.0.0.1 ff02::1 255.255.255.255 10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 fd12::1 203.0.113.5 2001:db8::5 " +
				"64:ff9b::a9fe:a9fe 64:ff9b::7f00:1 2002:a9fe:a9fe::1 240.0.0.1 " +
				"64:ff9b:1::a9fe:a9fe 64:ff9b:1:ffff::a9fe:a9fe ::7f00:1 ::169.254.169.254 ::ffff:0:a9fe:a9fe 2001::1 2001:0:a9fe::1 fd20:ce::254"},
		{"fc00::/7", "", "fd12::1", "fd20:ce::254 fd00:ec2::254"},
		{"10.0.0.0/8", "", "10.1.2.3 10.0.0.6 1.1.1.1", "10.0.0.5 192.168.1.1 127.0.0.1"},
		{"10.0.0.5 127.0.0.0/8", "", "10.0.0.5 127.0.0.1", "10.0.0.6 ::1"},
		{"10.0.0.0/8", "10.1.0.0/16 1.1.1.0/24", "10.2.0.1 1.1.2.1", "10.1.0.1 1.1.1.1"},
		{"10.0.0.0/8", "10.0.0.0/8", "", "10.2.0.1"},
		{"10.1.0.0/16", "0.0.0.0/0 ::/0", "10.1.0.1", "1.1.1.1 2606:4700::1111 10.2.0.1"},
		{"0.0.0.0/0 ::/0", "", "1.1.1.1", "127.0.0.1 169.254.169.254 10.1.1.1 fd12::1 203.0.113.5"},
		{"168.63.129.16", "", "168.63.129.16", "100.100.100.200"},
	} {
		r := rules(t, tc.allow, tc.deny)
		for _, a := range strings.Fields(tc.dialled) {
			if err := r.Check(netip.MustParseAddr(a)); err != nil {
				t.Errorf("allow %q deny %q: %s: %v", tc.allow, tc.deny, a, err)
			}
		}
		for _, a := range strings.Fields(tc.refused) {
			var refused *Refused
			if err := r.Check(netip.MustParseAddr(a)); !errors.As(err, &refused) || refused.Why == "" {
				t.Errorf("allow %q deny %q: %s is dialled: %v", tc.allow, tc.deny, a, err)
			}
		}
	}
	blind := rules(t, "", "")
	blind.own = func() ([]net.Addr, error) { return nil, errors.New("unreadable") }
	if blind.Check(netip.MustParseAddr("1.1.1.1")) == nil {
		t.Error("an address is dialled though the machine's own ones are not known")
	}
}

func TestParse(t *testing.T) {
	for _, wrong := range []string{
		"",
		"10.0.0.0/33",
		"example.com",
		"10.0.0.0/8/8",
		"::ffff:10.0.0.0/104",
		"fe80::1%eth0",
	} {
		if p, err := Parse([]string{wrong}); err == nil {
			t.Errorf("%q is %v", wrong, p)
		}
	}
	for text, want := range map[string]string{"10.0.0.1": "10.0.0.1/32", "10.0.0.0/28": "10.0.0.0/28",
		"fd00::1": "fd00::1/128", "fd00::/64": "fd00::/64"} {
		if got, err := Parse([]string{text}); err != nil || len(got) != 1 || got[0].String() != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}

// TestDial has a server that is refused by its address, by a name, and behind a redirect from one
// that is allowed.
func TestDial(t *testing.T) {
	inner := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "secret") }),
	)
	defer inner.Close()
	_, port, _ := net.SplitHostPort(inner.Listener.Addr().String())
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skip("this machine has no second loopback address:", err)
	}
	front := httptest.NewUnstartedServer(http.RedirectHandler(inner.URL, http.StatusTemporaryRedirect))
	front.Listener.Close()
	front.Listener = l
	front.Start()
	defer front.Close()
	get := func(r *Rules, url string) error {
		c := http.Client{Transport: &http.Transport{DialContext: r.DialContext, DisableKeepAlives: true}}
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	for name, tc := range map[string]struct{ allow, url string }{
		"by address":        {"", inner.URL},
		"by name":           {"", "http://localhost:" + port},
		"behind a redirect": {"127.0.0.2", front.URL},
	} {
		var refused *Refused
		if err := get(rules(t, tc.allow, ""), tc.url); !errors.As(err, &refused) ||
			!strings.Contains(err.Error(), "--webhook-allow-cidr") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := get(rules(t, "127.0.0.0/8", ""), front.URL); err != nil {
		t.Error(err)
	}
}

func TestCheckURL(t *testing.T) {
	r := rules(t, "", "")
	for _, refused := range []string{"https://127.0.0.1/x", "https://[::1]:8443/", "https://169.254.169.254"} {
		if r.CheckURL(refused) == nil {
			t.Errorf("%s passes", refused)
		}
	}
	for _, passes := range []string{"https://hooks.example.com/x", "https://1.1.1.1:8443", "://"} {
		if err := r.CheckURL(passes); err != nil {
			t.Errorf("%s: %v", passes, err)
		}
	}
}

package ingress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	proxyproto "github.com/pires/go-proxyproto"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"skerry.dev/skerry/tunnel/exchange"
)

// dialAs connects as a load balancer does for a caller, and sends what the caller sends at once.
func dialAs(t *testing.T, c *center, head, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", c.at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, head+text); err != nil {
		t.Fatal(err)
	}
	return conn
}

func introduce(t *testing.T, version byte, command proxyproto.ProtocolVersionAndCommand, from string) string {
	t.Helper()
	h := &proxyproto.Header{Version: version, Command: command, TransportProtocol: proxyproto.TCPv4,
		SourceAddr:      net.TCPAddrFromAddrPort(netip.MustParseAddrPort(from)),
		DestinationAddr: net.TCPAddrFromAddrPort(netip.MustParseAddrPort("192.0.2.1:443"))}
	b, err := h.Format()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Behind a load balancer the caller is the one that it names, to the application, to policies and to limits.
func TestLoadBalancers(t *testing.T) {
	c := start(t, netip.MustParsePrefix("127.0.0.0/8"))
	c.app("web", echo)
	c.grant("shop", "a.test")
	c.service("shop", "web")
	c.ingress("shop", "web", m{"rules": []any{rule("a.test", "Prefix /", "web")}})
	ask := func(t *testing.T, head string) string {
		conn := dialAs(t, c, head, "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return ""
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return fmt.Sprint(resp.StatusCode, string(text))
	}
	named := introduce(t, 2, proxyproto.PROXY, "198.51.100.7:1234")
	c.eventually("it is served", func() bool { return strings.HasPrefix(ask(t, named), "200") })
	for name, by := range map[string]struct {
		head, caller string // who is seen, empty where nothing is answered
	}{
		"version 1":     {introduce(t, 1, proxyproto.PROXY, "198.51.100.7:1"), "198.51.100.7"},
		"version 2":     {introduce(t, 2, proxyproto.PROXY, "198.51.100.7:2"), "198.51.100.7"},
		"its own check": {introduce(t, 2, proxyproto.LOCAL, "198.51.100.7:1234"), "127.0.0.1"},
		"unknown":       {"PROXY UNKNOWN\r\n", "127.0.0.1"},
		"nothing":       {"", ""},
		"nonsense":      {"PROXY TCP4 1.2.3.4.5 1 2 3\r\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(c.called())
			got := ask(t, by.head)
			if by.caller == "" {
				if got != "" {
					t.Errorf("it is answered with %s", got)
				}
				return
			}
			if !strings.Contains(got, "X-Forwarded-For="+by.caller+" ") {
				t.Errorf("the application sees %s", got)
			}
			if calls := c.called()[before:]; len(calls) != 1 {
				t.Errorf("%d calls", len(calls))
			} else if caller, err := exchange.ReadCaller(calls[0].Caller); err != nil || caller.Address.String() != by.caller {
				t.Errorf("policies are asked about %v, %v", caller, err)
			}
		})
	}
	if n := testutil.ToFloat64(c.cfg.Metrics.refused.WithLabelValues("balancer")); n != 2 {
		t.Errorf("%v connections of balancers that did not say who calls", n)
	}
}

// Each caller behind a load balancer has a limit of its own.
func TestLimitsBehindALoadBalancer(t *testing.T) {
	p := &ports{cfg: Config{Metrics: NewMetrics()}, sources: map[netip.Prefix]int{}, open: map[*caller]struct{}{}}
	enter := func(from string) bool {
		here, there := net.Pipe()
		head := introduce(t, 2, proxyproto.PROXY, from)
		go func() { _, _ = io.WriteString(there, head) }()
		c := &caller{Conn: here, ports: p, from: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1}, balanced: true}
		p.open[c] = struct{}{}
		return p.introduced(c)
	}
	for i := range mostConnectionsOfSource {
		if !enter("198.51.100.7:1234") {
			t.Fatalf("connection %d is refused", i)
		}
	}
	if enter("198.51.100.7:1234") || !enter("198.51.100.8:1234") {
		t.Error("a caller has more than its limit, or another one none")
	}
	if len(p.sources) != 2 {
		t.Errorf("%v are counted", p.sources)
	}
}

// Nobody else may name a caller.
func TestWhoIsNoLoadBalancerNamesNobody(t *testing.T) {
	c := web(t, echo)
	conn := dialAs(t, c, introduce(t, 1, proxyproto.PROXY, "198.51.100.7:1234"), "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
	if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil && resp.StatusCode != http.StatusBadRequest {
		t.Errorf("it is answered with %d", resp.StatusCode)
	}
}

// TLS that a load balancer leads here is read behind what it says.
func TestTLSBehindALoadBalancer(t *testing.T) {
	c := start(t, netip.MustParsePrefix("127.0.0.1/32"))
	c.app("web", echo)
	c.grant("shop", "a.test")
	c.service("shop", "web")
	roots := c.secret("shop", "tls", "a.test")
	c.ingress("shop", "web", m{"rules": []any{rule("a.test", "Prefix /", "web")}, "tls": []any{m{"secretName": "tls"}}})
	client := c.client(roots, true)
	transport := client.Transport.(*http.Transport)
	head := introduce(t, 2, proxyproto.PROXY, "198.51.100.7:1234")
	transport.DialContext = func(context.Context, string, string) (net.Conn, error) { return dialAs(t, c, head, ""), nil }
	c.eventually("it is served by TLS", func() bool {
		code, text := c.getBy(client, "https://a.test/")
		return code == http.StatusOK && strings.Contains(text, "X-Real-Ip=198.51.100.7")
	})
}

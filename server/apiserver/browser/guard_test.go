package browser

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestGuard(t *testing.T) {
	type headers map[string]string
	for name, c := range map[string]struct {
		host, method string
		headers      headers
		want         int
		bare         bool // the certificate does not count
	}{
		"kubectl":                     {want: 200},
		"kubectl, by another name":    {host: "elsewhere.example.com:7443", want: 200},
		"an address that was typed":   {headers: headers{"Sec-Fetch-Site": "none"}, want: 200},
		"its own page":                {headers: headers{"Sec-Fetch-Site": "same-origin", "Origin": "https://center.example.com:7443"}, want: 200},
		"its own page, by address":    {host: "[::1]:7443", headers: headers{"Origin": "https://[::1]:7443"}, want: 200},
		"its own page, at localhost":  {host: "localhost:7443", headers: headers{"Origin": "https://localhost:7443"}, want: 200},
		"through kubectl proxy":       {headers: headers{"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:8001"}, want: 200},
		"a page of another site":      {headers: headers{"Sec-Fetch-Site": "cross-site"}, want: 403},
		"a write of another site":     {method: "POST", headers: headers{"Origin": "https://evil.example.net"}, want: 403},
		"a sibling":                   {headers: headers{"Sec-Fetch-Site": "same-site"}, want: 403},
		"a sibling port":              {headers: headers{"Origin": "https://center.example.com:8443"}, want: 403},
		"the same name without TLS":   {headers: headers{"Origin": "http://center.example.com:7443"}, want: 403},
		"a page without an origin":    {headers: headers{"Origin": "null"}, want: 403},
		"a WebSocket of another site": {headers: headers{"Origin": "https://evil.example.net", "Upgrade": "websocket"}, want: 403},
		"a contradiction":             {headers: headers{"Sec-Fetch-Site": "cross-site", "Origin": "https://center.example.com:7443"}, want: 403},
		"another site, with a token":  {headers: headers{"Origin": "https://ui.example.net", "Authorization": "Bearer t"}, want: 200, bare: true},
		"a name that points here":     {host: "evil.example.net:7443", headers: headers{"Origin": "https://evil.example.net:7443"}, want: 421},
		"such a name, with a token":   {host: "evil.example.net", headers: headers{"Origin": "https://evil.example.net", "Authorization": "Bearer t"}, want: 421},
	} {
		t.Run(name, func(t *testing.T) {
			certificates := -1
			guard := Guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				certificates = len(r.TLS.PeerCertificates)
			}), func(host string) bool { return host == "center.example.com" })
			r := httptest.NewRequest("GET", "https://center.example.com:7443/api/v1/secrets", nil)
			if c.method != "" {
				r.Method = c.method
			}
			if c.host != "" {
				r.Host = c.host
			}
			for k, v := range c.headers {
				r.Header.Set(k, v)
			}
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{}}}
			w := httptest.NewRecorder()
			guard.ServeHTTP(w, r)
			if w.Code != c.want {
				t.Fatalf("answered %d, want %d: %s", w.Code, c.want, w.Body)
			}
			want := 1
			switch {
			case c.want != 200:
				want = -1
			case c.bare:
				want = 0
			}
			if certificates != want || len(r.TLS.PeerCertificates) != 1 {
				t.Errorf("%d certificates came through, want %d", certificates, want)
			}
			if w.Header().Get("X-Content-Type-Options") != "nosniff" ||
				w.Header().Get("Cross-Origin-Resource-Policy") != "same-origin" {
				t.Errorf("headers %v", w.Header())
			}
		})
	}
}

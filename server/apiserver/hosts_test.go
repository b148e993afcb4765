package apiserver

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestHosts(t *testing.T) {
	h := hosts{"spaces.example.org"}
	for _, tc := range []struct {
		host, sni, path string
		space, rest     string
		byHost          bool
		code            int32
	}{
		{"center.example.org:7443", "center.example.org", "/api", "root", "/api", false, 0},
		{"center.example.org:7443", "", "/clusters/shop/api", "shop", "/api", false, 0},
		{"127.0.0.1:7443", "", "/clusters/shop/api", "shop", "/api", false, 0},
		{"shop.spaces.example.org:7443", "shop.spaces.example.org", "/api", "shop", "/api", true, 0},
		{"shop.spaces.example.org", "", "/", "shop", "/", true, 0},
		{"SHOP.Spaces.example.org.:443", "shop.spaces.example.org", "/api", "shop", "/api", true, 0},
		{"shop.spaces.example.org", "shop.spaces.example.org", "/clusters/shop/api", "shop", "/api", true, 0},
		{"shop.spaces.example.org", "shop.spaces.example.org", "/clusters/bank/api", "", "", false, 400},
		{"shop.spaces.example.org", "", "/clusters/root/api", "", "", false, 400},
		{"shop.spaces.example.org", "", "/clusters/*/api", "", "", false, 400},
		{"shop.spaces.example.org", "", "/clusters/", "", "", false, 400},
		{"127.0.0.1:7443", "shop.spaces.example.org", "/api", "shop", "/api", true, 0},
		{"[::1]:7443", "shop.spaces.example.org", "/api", "shop", "/api", true, 0},
		{"[::1]", "shop.spaces.example.org", "/clusters/bank/api", "", "", false, 400},
		{"127.0.0.1:7443", "center.example.org", "/clusters/shop/api", "shop", "/api", false, 0},
		{"bank.spaces.example.org", "shop.spaces.example.org", "/api", "", "", false, 421},
		{"center.example.org", "shop.spaces.example.org", "/api", "", "", false, 421},
		{"shop.spaces.example.org", "center.example.org", "/api", "", "", false, 421},
		{"root.spaces.example.org", "", "/api", "root", "/api", true, 0},
		{"*.spaces.example.org", "", "/api", "*", "/api", true, 0},             // refused as by path
		{"a.b.spaces.example.org", "", "/api", "a.b", "/api", true, 0},         // no space has this name
		{"spaces.example.org", "", "/api", "root", "/api", false, 0},           // the domain itself is the center's
		{"notspaces.example.org", "", "/api", "root", "/api", false, 0},        // another domain
		{"shop.spaces.example.org.evil", "", "/api", "root", "/api", false, 0}, // another domain
	} {
		r := httptest.NewRequest(http.MethodGet, "https://x"+tc.path, nil)
		r.Host, r.TLS = tc.host, &tls.ConnectionState{ServerName: tc.sni}
		space, rest, byHost, wrong := h.split(r)
		code := int32(0)
		if wrong != nil {
			code = wrong.Code
		}
		if space != tc.space || rest != tc.rest || byHost != tc.byHost || code != tc.code {
			t.Errorf("%s (%s) %s: %q %q %v %d", tc.host, tc.sni, tc.path, space, rest, byHost, code)
		}
	}
	if space := (hosts{}).space("shop."); space != "" {
		t.Errorf("without a domain %q", space)
	}
	for _, tc := range [][4]string{
		{"https://c:7443", "d.org", "shop", "https://shop.d.org:7443"},
		{"https://c", "d.org", "shop", "https://shop.d.org"},
		{"https://c:7443", "", "shop", ""},
		{"https://c:7443", "d.org", "root", ""},
	} {
		if got := HostURL(tc[0], tc[1], tc[2]); got != tc[3] {
			t.Errorf("%v: %s", tc, got)
		}
	}
}

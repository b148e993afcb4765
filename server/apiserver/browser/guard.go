// Package browser keeps pages of others from using the center with what a browser has: a client
// certificate, which a browser presents to whoever asks, is no word of its owner.
//
// A request comes from a page when it says where the page is from, by Origin or Sec-Fetch-Site. kubectl
// and other clients send neither. Browsers send one of them with all but plain navigation, and with
// WebSockets too, which Go's CrossOriginProtection lets pass. So a Guard looks at each method.
package browser

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/apiserver/response"
)

// Guard returns a handler that refuses requests of pages that are not the center's own, and answers
// with headers that keep answers from being run or read by other pages. names reports whether the
// center's certificate has a host name.
//
// A page of another origin may send a token of its own: that request has no certificate any more.
func Guard(next http.Handler, names func(host string) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if !fromPage(r) {
			next.ServeHTTP(w, r)
			return
		}
		if host := hostOf(r.Host); !names(host) && host != "localhost" && !isAddress(host) {
			response.Write(w, response.Status(http.StatusMisdirectedRequest, metav1.StatusReasonBadRequest,
				"the center is not called "+host+"; use a name that it has, or give it this one by --advertise"))
			return
		}
		if !ofItself(r) {
			if r.Header.Get("Authorization") == "" {
				response.Write(w, response.Status(http.StatusForbidden, metav1.StatusReasonForbidden,
					"a page of another site asks; it needs a token of its own, since a certificate is not its word"))
				return
			}
			r = withoutCertificate(r)
		}
		next.ServeHTTP(w, r)
	})
}

func fromPage(r *http.Request) bool {
	return r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != ""
}

// ofItself reports whether the page is the center's own, or nobody's, such as an address that was
// typed. Sec-Fetch-Site is the browser's word. It is same-origin also behind kubectl proxy, which
// hands on an Origin of its own.
func ofItself(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin" || site == "none"
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == "https" && strings.EqualFold(u.Host, r.Host)
}

func withoutCertificate(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	if r.TLS != nil {
		state := new(tls.ConnectionState)
		*state = *r.TLS
		state.PeerCertificates, state.VerifiedChains = nil, nil
		r.TLS = state
	}
	return r
}

func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

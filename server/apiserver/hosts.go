package apiserver

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
)

// hosts serves each space at a host of its own, NAME.<domain>, beside its path: for clients that
// cannot carry a path, as those in a pod, which know a host and a port. What is asked for is the
// same request as that by path.
type hosts struct{ domain string } // "": by path alone

// HostURL is where a space's kube API is found by a host of its own, "" when there are no such
// hosts or the space is root.
func HostURL(external, domain, space string) string {
	u, err := url.Parse(external)
	if domain == "" || space == request.RootSpace || err != nil {
		return ""
	}
	host := space + "." + domain
	if u.Port() != "" {
		host = net.JoinHostPort(host, u.Port())
	}
	return u.Scheme + "://" + host
}

// space is the one that a host names, "" for a host of the center itself.
func (h hosts) space(host string) string {
	if h.domain == "" {
		return ""
	}
	name, below := strings.CutSuffix(strings.ToLower(withoutPort(host)), "."+h.domain)
	if !below {
		return ""
	}
	return name
}

func withoutPort(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.TrimSuffix(host, ".")
}

// named is the space that the host of a request names. Where that is an address, the name by which
// the connection was made counts (a kubeconfig's tls-server-name); otherwise both have to name the
// same: a client may take a connection that it has for another host of the same certificate.
func (h hosts) named(r *http.Request) (space string, wrong *metav1.Status) {
	space = h.space(r.Host)
	if r.TLS == nil || r.TLS.ServerName == "" {
		return space, nil
	}
	connected := h.space(r.TLS.ServerName)
	if _, err := netip.ParseAddr(strings.Trim(withoutPort(r.Host), "[]")); err == nil {
		return connected, nil
	}
	if connected != space {
		return "", response.Status(
			http.StatusMisdirectedRequest,
			metav1.StatusReasonUnknown,
			"the host of the request is not that of its connection; connect to the host itself",
		)
	}
	return space, nil
}

// split returns the space that a request names, by path or host, and the path within its API;
// byHost tells that the host names it. A request that names two spaces is refused.
func (h hosts) split(r *http.Request) (space, path string, byHost bool, wrong *metav1.Status) {
	space, path = request.Split(r.URL.Path)
	host, wrong := h.named(r)
	switch {
	case wrong != nil:
		return "", "", false, wrong
	case host == "":
		return space, path, false, nil
	case path == r.URL.Path, space == host:
		return host, path, true, nil
	}
	return "", "", false, response.Status(
		http.StatusBadRequest,
		metav1.StatusReasonBadRequest,
		"the host names space "+clip(host)+" and the path "+clip(space)+"; name one space",
	)
}

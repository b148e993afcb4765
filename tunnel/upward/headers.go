package upward

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// The headers that the tiers add to a request. What a pod says in them never passes.
const (
	// headerSpace names the space whose API is asked.
	headerSpace = "Skerry-Space"
	// headerSite has the names of the targets below the sender, with slashes between them, the
	// farthest last. It is missing where the sender is the site.
	headerSite = "Skerry-Site"
)

// MaxHead bounds the head of a request and of an answer, in bytes.
const MaxHead = 64 << 10

// maxTiers is how many names the path of a site may have.
const maxTiers = 16

// ErrRequest is wrapped by every error about a request that breaks the rules of this package.
var ErrRequest = errors.New("not a request for the API of a space")

var nameForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)

// asked are the headers of a request that pass. Impersonate-* passes, too: the space's RBAC judges
// it.
var asked = []string{
	"Accept", "Accept-Encoding", "Authorization", "Connection", "Content-Encoding", "Content-Type",
	"If-Match", "If-None-Match", "Sec-Websocket-Key", "Sec-Websocket-Protocol",
	"Sec-Websocket-Version", "Upgrade", "User-Agent", "X-Stream-Protocol-Version",
}

const impersonation = "Impersonate-"

// answered are the headers of an answer that pass.
var answered = []string{
	"Audit-Id", "Cache-Control", "Connection", "Content-Encoding", "Content-Length", "Content-Type",
	"Etag", "Last-Modified", "Retry-After", "Sec-Websocket-Accept", "Sec-Websocket-Protocol",
	"Upgrade", "Vary", "Warning", "Www-Authenticate", "X-Kubernetes-Pf-Flowschema-Uid",
	"X-Kubernetes-Pf-Prioritylevel-Uid", "X-Stream-Protocol-Version",
}

// passing returns what passes of headers.
func passing(h http.Header, names []string) http.Header {
	out := http.Header{}
	for _, name := range names {
		if v := h[name]; len(v) > 0 {
			out[name] = v
		}
	}
	if !isUpgrade(h) {
		out.Del("Connection")
		out.Del("Upgrade")
	}
	return out
}

// isUpgrade reports whether a connection is to be upgraded.
func isUpgrade(h http.Header) bool {
	for _, v := range h["Connection"] {
		for token := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(token), "upgrade") {
				return len(h["Upgrade"]) == 1
			}
		}
	}
	return false
}

// Request returns the headers of a request for a space that pass to the next tier. Site is the
// path of the site below this tier, empty where this is the site.
func Request(h http.Header, space, site string) http.Header {
	out := passing(h, asked)
	for name, values := range h {
		if strings.HasPrefix(name, impersonation) {
			out[name] = values
		}
	}
	out.Set(headerSpace, space)
	if site != "" {
		out.Set(headerSite, site)
	}
	if out.Get("User-Agent") == "" {
		out["User-Agent"] = nil // net/http adds none of its own
	}
	return out
}

// Answer removes the headers of an answer that do not pass.
func Answer(h http.Header) {
	out := passing(h, answered)
	clear(h)
	for name, values := range out {
		h[name] = values
	}
}

// Arrived reads whose API a request asks for, and the path of its site: child is the proven name
// of the target that it came from. It removes what the tiers have added. The error wraps
// ErrRequest.
func Arrived(h http.Header, child string) (space, site string, err error) {
	if len(h[headerSpace]) != 1 || !nameForm.MatchString(h[headerSpace][0]) {
		return "", "", fmt.Errorf("%w: space %.80q", ErrRequest, h.Get(headerSpace))
	}
	space, site = h[headerSpace][0], child
	if below := h[headerSite]; len(below) > 0 {
		names := strings.Split(below[0], "/")
		if len(below) != 1 || len(names) >= maxTiers {
			return "", "", fmt.Errorf("%w: site %.80q", ErrRequest, below[0])
		}
		for _, name := range names {
			if !nameForm.MatchString(name) {
				return "", "", fmt.Errorf("%w: site %.80q", ErrRequest, below[0])
			}
		}
		site += "/" + below[0]
	}
	h.Del(headerSpace)
	h.Del(headerSite)
	return space, site, nil
}

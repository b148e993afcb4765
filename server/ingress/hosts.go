package ingress

import (
	"net"
	"strings"
)

// anyPrefix begins a host that stands for all that have one more label in its place.
const anyPrefix = "*."

// hostOf is the host of a request as a Table has it: in lower case, without a port and without a dot at the end.
func hostOf(authority string) string {
	host := authority
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// wildcardOf is the host that stands for all beside this one, empty where there is none.
func wildcardOf(host string) string {
	if _, rest, found := strings.Cut(host, "."); found && rest != "" {
		return anyPrefix + rest
	}
	return ""
}

// grants are the hosts that a space was granted: names, or such that stand for one label more.
type grants map[string]bool

func grantsOf(hosts []string) grants {
	g := grants{}
	for _, h := range hosts {
		g[strings.ToLower(h)] = true
	}
	return g
}

// allows reports whether a space may claim a host. A wildcard needs a grant of the same.
func (g grants) allows(host string) bool {
	return g[host] || !strings.HasPrefix(host, anyPrefix) && g[wildcardOf(host)]
}

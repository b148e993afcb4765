package site

import (
	"slices"
	"strings"
	"sync"
	"time"

	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/store"
)

// writeAge is how long a claim holds that the cluster does not show: its write is under way.
const writeAge = time.Minute

// claim is what one object of the cluster exposes. owner is the space that it was delivered from, with
// the site that wrote it where that is another agent's; it is empty for one of the site's own.
type claim struct {
	owner string
	is    policy.Exposed
	since time.Time
}

// Hosts are the claims of all objects of the cluster, by their names there. So two spaces that want
// one host are told apart by age: the object that is at the cluster has it.
type Hosts struct {
	*Config
	listing sync.Mutex // is held while the cluster is listed, so that workers do not all list it

	mu     sync.Mutex
	listed time.Time
	all    map[store.Key]claim
	by     map[string]keySet // by host
	// aliases are the Services of type ExternalName that were written, or are about to be, by their
	// names at the cluster.
	aliases map[store.Key]time.Time
}

type keySet map[store.Key]struct{}

// putLocked sets the claim of an object.
func (h *Hosts) putLocked(k store.Key, c claim) {
	h.dropLocked(k)
	if h.all == nil {
		h.all, h.by = map[store.Key]claim{}, map[string]keySet{}
	}
	h.all[k] = c
	for _, host := range c.is.Hosts {
		if h.by[host] == nil {
			h.by[host] = keySet{}
		}
		h.by[host][k] = struct{}{}
	}
}

func (h *Hosts) dropLocked(k store.Key) {
	c := h.all[k]
	delete(h.all, k)
	for _, host := range c.is.Hosts {
		if delete(h.by[host], k); len(h.by[host]) == 0 {
			delete(h.by, host)
		}
	}
}

// above lists the wildcards that take the traffic of a host.
func above(host string) (out []string) {
	for rest := strings.TrimPrefix(host, "*."); ; {
		_, domain, found := strings.Cut(rest, ".")
		if !found {
			return out
		}
		out, rest = append(out, "*."+domain), domain
	}
}

// takenLocked returns the claim of somebody else for traffic that a host would take.
func (h *Hosts) takenLocked(k store.Key, owner, host string) (by store.Key, c claim, taken bool) {
	for _, name := range append(above(host), host) {
		for other := range h.by[name] {
			if c := h.all[other]; other != k && c.owner != owner {
				return other, c, true
			}
		}
	}
	below, wildcard := strings.CutPrefix(host, "*")
	if !wildcard {
		return by, c, false
	}
	for other, c := range h.all { // wildcards are few, and an index of what is below them would be large
		if other != k && c.owner != owner &&
			slices.ContainsFunc(c.is.Hosts, func(has string) bool { return strings.HasSuffix(has, below) }) {
			return other, c, true
		}
	}
	return by, c, false
}

// claim adds to the claim of an object, and returns what that was. If somebody else has one of the
// hosts that only one space has, it returns whose claim that is, and the host.
func (h *Hosts) claim(
	at store.Key, owner string, is policy.Exposed, first []string,
) (had claim, other store.Key, c claim, host string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	had = h.all[at]
	for _, host := range first {
		if other, c, taken := h.takenLocked(at, owner, host); taken {
			return had, other, c, host
		}
	}
	is.Hosts = slices.Concat(is.Hosts, had.is.Hosts)
	is.Backends = slices.Concat(is.Backends, had.is.Backends)
	h.putLocked(at, claim{owner, is, time.Now()})
	return had, other, c, ""
}

// put sets the claim of an object; one of nothing forgets it.
func (h *Hosts) put(k store.Key, c claim) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dropLocked(k); len(c.is.Hosts)+len(c.is.Backends) > 0 {
		h.putLocked(k, c)
	}
}

// forget forgets an object that is gone.
func (h *Hosts) forget(k store.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropLocked(k)
	delete(h.aliases, k)
}

// merge takes over what the cluster has, and keeps what is newer than the list.
func (h *Hosts) merge(found map[store.Key]claim, began time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for k, c := range h.all {
		if _, there := found[k]; !there && c.since.Before(began.Add(-writeAge)) {
			h.dropLocked(k)
		}
	}
	for k, c := range found {
		if have, known := h.all[k]; !known || have.since.Before(began.Add(-writeAge)) {
			h.putLocked(k, c)
		}
	}
	for k, since := range h.aliases {
		if since.Before(began.Add(-writeAge)) {
			delete(h.aliases, k) // the cluster has it
		}
	}
	h.listed = began
}

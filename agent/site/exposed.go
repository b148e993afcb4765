package site

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// hostsAge is how old the list of what the cluster exposes may be.
const hostsAge = 5 * time.Minute

// exposedKinds are what is listed at the cluster, as far as it serves them.
var exposedKinds = []target.Resource{
	{Group: "networking.k8s.io", Version: "v1", Plural: "ingresses"},
	{Group: "gateway.networking.k8s.io", Version: "v1", Plural: "gateways"},
	{Group: "gateway.networking.k8s.io", Version: "v1", Plural: "httproutes"},
	{Group: "gateway.networking.k8s.io", Version: "v1", Plural: "grpcroutes"},
	{Group: "gateway.networking.k8s.io", Version: "v1alpha2", Plural: "tlsroutes"},
}

// expose claims what an object of a space takes from the network of the site, and refuses what others
// have there. Before the object is written, its claim has what it had and what it will have.
func (h *Hosts) expose(ctx context.Context, o *Object, p *policy.Policy) error {
	if !policy.Exposes(o.Key.Group, o.Key.Resource) {
		return nil
	}
	is := policy.Exposing(o.kind(), o.Body)
	if err := p.HostCount(len(is.Hosts)); err != nil {
		return err
	}
	var first []string
	for _, host := range is.Hosts {
		exclusive, err := p.Host(o.Key.Space, host)
		if err != nil {
			return err
		}
		if exclusive {
			first = append(first, host)
		}
	}
	if len(is.Hosts) > 0 {
		if err := h.list(ctx, o.Client); err != nil {
			return err
		}
	}
	at := exposedKey(o.Resource, o.At.Namespace, o.At.Name)
	had, err := h.claimHosts(ctx, o, at, is, first)
	if err != nil {
		return err
	}
	o.Exposed = &is
	for _, name := range is.Backends {
		if err := h.backend(ctx, o, p, name); err != nil {
			h.put(at, had)
			return err
		}
	}
	return nil
}

// claimHosts claims hosts for an object, and returns the claim that it had. It refuses those of first
// that somebody else has.
func (h *Hosts) claimHosts(
	ctx context.Context, o *Object, at store.Key, is policy.Exposed, first []string,
) (had claim, err error) {
	for {
		had, other, c, host := h.claim(at, o.Key.Space, is, first)
		if other == (store.Key{}) {
			return had, nil
		}
		there, err := h.stillThere(ctx, o.Client, other, c)
		if err != nil {
			return had, err
		}
		if there {
			return had, policy.HostTaken(o.Key.Space, host, c.owner == "")
		}
	}
}

// Written is called when an object was written: it has nothing else any more.
func (h *Hosts) Written(o *Object) {
	if o.Exposed == nil {
		return
	}
	h.put(exposedKey(o.Resource, o.At.Namespace, o.At.Name), claim{o.Key.Space, *o.Exposed, time.Now()})
}

// Gone is called before the record of an object that is gone is deleted. It reports whether another
// space may wait for its hosts.
func (h *Hosts) Gone(k store.Key) bool {
	if !policy.Exposes(k.Group, k.Resource) && !k.IsService() {
		return false
	}
	r, _ := h.Inventory.Get(k)
	at := h.Clients.KeyThere(target.Mapping(r.Prefix), k)
	at.Space = ""
	h.forget(at)
	return true
}

// stillThere looks a claim up at the cluster, and forgets it where its object is gone.
func (h *Hosts) stillThere(ctx context.Context, c *target.Client, k store.Key, was claim) (bool, error) {
	if time.Since(was.since) < writeAge {
		return true, nil
	}
	i := slices.IndexFunc(exposedKinds, func(r target.Resource) bool {
		return r.Group == k.Group && r.Plural == k.Resource
	})
	live, err := target.Find(ctx, c, exposedKinds[i], k, false)
	if err != nil && !errors.Is(err, target.ErrNotServed) {
		return false, fmt.Errorf("look up who has the host: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := h.all[k]; !now.since.Equal(was.since) {
		return true, nil // changed meanwhile: it is looked at again by the next try
	}
	if live == nil {
		h.dropLocked(k)
		return false, nil
	}
	h.putLocked(k, h.claimOf(exposedKinds[i], live, was.since))
	return true, nil
}

// claimOf is the claim of an object that is at the cluster.
func (h *Hosts) claimOf(r target.Resource, o *target.Object, since time.Time) claim {
	owner := o.OriginSpace()
	if site := o.Metadata.Labels[target.LabelSite]; owner != "" && site != h.Clients.Site() {
		owner = site + "/" + owner // a space of another center
	}
	meta := policy.ExposingMeta{Namespace: o.Metadata.Namespace, Annotations: o.Metadata.Annotations}
	return claim{owner, policy.ExposingSpec(policy.KindName(r.Group, r.Plural), meta, o.Spec), since}
}

// list reads what the cluster exposes, if that was long ago. The agent's own claims that are
// newer than the list stay as they are.
func (h *Hosts) list(ctx context.Context, c *target.Client) error {
	h.listing.Lock()
	defer h.listing.Unlock()
	began := time.Now()
	seen := began.Add(-writeAge) // whatever is refused for one of them is looked up
	h.mu.Lock()
	fresh := began.Sub(h.listed) < hostsAge
	h.mu.Unlock()
	if fresh {
		return nil
	}
	found := map[store.Key]claim{}
	for _, r := range exposedKinds {
		_, err := c.List(ctx, target.Listing{Resource: r}, func(o *target.Object) error {
			found[exposedKey(r, o.Metadata.Namespace, o.Metadata.Name)] = h.claimOf(r, o, seen)
			return nil
		})
		if err != nil && !isNotServed(err) && !apierrors.IsForbidden(err) {
			return fmt.Errorf("list the hosts that the cluster has: %w", err)
		}
	}
	h.merge(found, began)
	return nil
}

func exposedKey(r target.Resource, namespace, name string) store.Key {
	return store.Key{Group: r.Group, Resource: r.Plural, Namespace: namespace, Name: name}
}

// services is the resource of Services.
var services = target.Resource{Version: "v1", Plural: "services"}

// backend refuses a Service of type ExternalName as one to which an object leads traffic. Its claim
// is there already, so of two that come at one moment at least one sees the other.
func (h *Hosts) backend(ctx context.Context, o *Object, p *policy.Policy, name string) error {
	k := exposedKey(services, o.At.Namespace, name)
	h.mu.Lock()
	_, alias := h.aliases[k]
	h.mu.Unlock()
	if !alias {
		live, err := target.Find(ctx, o.Client, services, k, false)
		if err != nil {
			return fmt.Errorf("look up the Service that traffic is for: %w", err)
		}
		if live == nil || !policy.IsExternalName(live.Spec) {
			return nil
		}
	}
	return p.ExternalBackend(name, o.kind()+" "+o.Key.Name)
}

// alias refuses a Service of type ExternalName to which an object leads traffic.
func (h *Hosts) alias(ctx context.Context, o *Object, p *policy.Policy) error {
	if !o.Key.IsService() {
		return nil
	}
	k := exposedKey(services, o.At.Namespace, o.At.Name)
	if !policy.IsExternalName(o.Head.Spec) {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.aliases, k)
		return nil
	}
	if err := h.list(ctx, o.Client); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.aliases == nil {
		h.aliases = map[store.Key]time.Time{}
	}
	h.aliases[k] = time.Now()
	for other, c := range h.all {
		if other.Namespace == k.Namespace && c.owner == o.Key.Space && slices.Contains(c.is.Backends, k.Name) {
			if err := p.ExternalBackend(o.Key.Name, kindOf(other)+" "+other.Name); err != nil {
				delete(h.aliases, k)
				return err
			}
		}
	}
	return nil
}

// kindOf is the resource of a key, as people name it.
func kindOf(k store.Key) string { return policy.KindName(k.Group, k.Resource) }

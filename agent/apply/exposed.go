package apply

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
func (a *Applier) expose(ctx context.Context, t *task, p *policy.Policy) error {
	if !policy.Exposes(t.Key.Group, t.Key.Resource) {
		return nil
	}
	is := policy.Exposing(policy.KindName(t.Key.Group, t.Key.Resource), t.Body)
	if err := p.HostCount(len(is.Hosts)); err != nil {
		return err
	}
	var first []string
	for _, host := range is.Hosts {
		exclusive, err := p.Host(t.Key.Space, host)
		if err != nil {
			return err
		}
		if exclusive {
			first = append(first, host)
		}
	}
	if len(is.Hosts) > 0 {
		if err := a.listExposed(ctx, t.client); err != nil {
			return err
		}
	}
	at := exposedKey(t.resource, t.at.Namespace, t.at.Name)
	had, err := a.claimHosts(ctx, t, at, is, first)
	if err != nil {
		return err
	}
	t.exposed = &is
	for _, name := range is.Backends {
		if err := a.backend(ctx, t, p, name); err != nil {
			a.hosts.put(at, had)
			return err
		}
	}
	return nil
}

// claimHosts claims hosts for an object, and returns the claim that it had. It refuses those of first
// that somebody else has.
func (a *Applier) claimHosts(
	ctx context.Context, t *task, at store.Key, is policy.Exposed, first []string,
) (had claim, err error) {
	for {
		had, other, c, host := a.hosts.claim(at, t.Key.Space, is, first)
		if other == (store.Key{}) {
			return had, nil
		}
		there, err := a.stillThere(ctx, t.client, other, c)
		if err != nil {
			return had, err
		}
		if there {
			return had, policy.HostTaken(t.Key.Space, host, c.owner == "")
		}
	}
}

// exposedNow is called when an object was written: it has nothing else any more.
func (a *Applier) exposedNow(t *task) {
	if t.exposed == nil {
		return
	}
	a.hosts.put(exposedKey(t.resource, t.at.Namespace, t.at.Name), claim{t.Key.Space, *t.exposed, time.Now()})
}

// exposesNothing is called before the record of an object that is gone is deleted. Another space may
// wait for its hosts.
func (a *Applier) exposesNothing(k store.Key) {
	if !policy.Exposes(k.Group, k.Resource) && !isService(k) {
		return
	}
	r, _ := a.Inventory.Get(k)
	at := a.Clients.KeyThere(target.Mapping(r.Prefix), k)
	at.Space = ""
	a.hosts.forget(at)
	a.queue.kick(func(k store.Key) bool { return policy.Exposes(k.Group, k.Resource) })
}

// stillThere looks a claim up at the cluster, and forgets it where its object is gone.
func (a *Applier) stillThere(ctx context.Context, c *target.Client, k store.Key, was claim) (bool, error) {
	if time.Since(was.since) < writeAge {
		return true, nil
	}
	i := slices.IndexFunc(exposedKinds, func(r target.Resource) bool {
		return r.Group == k.Group && r.Plural == k.Resource
	})
	live, err := a.find(ctx, c, exposedKinds[i], k, false)
	if err != nil && !errors.Is(err, target.ErrNotServed) {
		return false, fmt.Errorf("look up who has the host: %w", err)
	}
	a.hosts.mu.Lock()
	defer a.hosts.mu.Unlock()
	if now := a.hosts.all[k]; !now.since.Equal(was.since) {
		return true, nil // changed meanwhile: it is looked at again by the next try
	}
	if live == nil {
		a.hosts.dropLocked(k)
		return false, nil
	}
	a.hosts.putLocked(k, a.claimOf(exposedKinds[i], live, was.since))
	return true, nil
}

// claimOf is the claim of an object that is at the cluster.
func (a *Applier) claimOf(r target.Resource, o *target.Object, since time.Time) claim {
	owner := o.OriginSpace()
	if site := o.Metadata.Labels[target.LabelSite]; owner != "" && site != a.Clients.Site() {
		owner = site + "/" + owner // a space of another center
	}
	meta := policy.ExposingMeta{Namespace: o.Metadata.Namespace, Annotations: o.Metadata.Annotations}
	return claim{owner, policy.ExposingSpec(policy.KindName(r.Group, r.Plural), meta, o.Spec), since}
}

// listExposed reads what the cluster exposes, if that was long ago. The agent's own claims that are
// newer than the list stay as they are.
func (a *Applier) listExposed(ctx context.Context, c *target.Client) error {
	a.hosts.listing.Lock()
	defer a.hosts.listing.Unlock()
	began := time.Now()
	seen := began.Add(-writeAge) // whatever is refused for one of them is looked up
	a.hosts.mu.Lock()
	fresh := began.Sub(a.hosts.listed) < hostsAge
	a.hosts.mu.Unlock()
	if fresh {
		return nil
	}
	found := map[store.Key]claim{}
	for _, r := range exposedKinds {
		_, err := c.List(ctx, target.Listing{Resource: r}, func(o *target.Object) error {
			found[exposedKey(r, o.Metadata.Namespace, o.Metadata.Name)] = a.claimOf(r, o, seen)
			return nil
		})
		if err != nil && !isNotServed(err) && !apierrors.IsForbidden(err) {
			return fmt.Errorf("list the hosts that the cluster has: %w", err)
		}
	}
	a.hosts.merge(found, began)
	return nil
}

func exposedKey(r target.Resource, namespace, name string) store.Key {
	return store.Key{Group: r.Group, Resource: r.Plural, Namespace: namespace, Name: name}
}

// services is the resource of Services.
var services = target.Resource{Version: "v1", Plural: "services"}

// backend refuses a Service of type ExternalName as one to which an object leads traffic. Its claim
// is there already, so of two that come at one moment at least one sees the other.
func (a *Applier) backend(ctx context.Context, t *task, p *policy.Policy, name string) error {
	k := exposedKey(services, t.at.Namespace, name)
	a.hosts.mu.Lock()
	_, alias := a.hosts.aliases[k]
	a.hosts.mu.Unlock()
	if !alias {
		live, err := a.find(ctx, t.client, services, k, false)
		if err != nil {
			return fmt.Errorf("look up the Service that traffic is for: %w", err)
		}
		if live == nil || !policy.IsExternalName(live.Spec) {
			return nil
		}
	}
	return p.ExternalBackend(name, kindOf(t.Key)+" "+t.Key.Name)
}

// alias refuses a Service of type ExternalName to which an object leads traffic.
func (a *Applier) alias(ctx context.Context, t *task, p *policy.Policy) error {
	if !isService(t.Key) {
		return nil
	}
	k := exposedKey(services, t.at.Namespace, t.at.Name)
	if !policy.IsExternalName(t.head.Spec) {
		a.hosts.mu.Lock()
		defer a.hosts.mu.Unlock()
		delete(a.hosts.aliases, k)
		return nil
	}
	if err := a.listExposed(ctx, t.client); err != nil {
		return err
	}
	a.hosts.mu.Lock()
	defer a.hosts.mu.Unlock()
	if a.hosts.aliases == nil {
		a.hosts.aliases = map[store.Key]time.Time{}
	}
	a.hosts.aliases[k] = time.Now()
	for other, c := range a.hosts.all {
		if other.Namespace == k.Namespace && c.owner == t.Key.Space && slices.Contains(c.is.Backends, k.Name) {
			if err := p.ExternalBackend(t.Key.Name, kindOf(other)+" "+other.Name); err != nil {
				delete(a.hosts.aliases, k)
				return err
			}
		}
	}
	return nil
}

// kindOf is the resource of a key, as people name it.
func kindOf(k store.Key) string { return policy.KindName(k.Group, k.Resource) }

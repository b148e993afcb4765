package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// look brings everything up to date: what workloads name is kept, and what none names is removed.
func (g *Gateway) look(ctx context.Context) error {
	named := g.named()
	g.recheck()
	var errs []error
	for _, who := range sorted(named) {
		at := named[who]
		if err := g.provide(ctx, who, at, false); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, g.sweep(ctx, named))...)
}

// recheck has all that is kept looked at anew, now and then: others may have removed it.
func (g *Gateway) recheck() {
	g.providing.Lock()
	defer g.providing.Unlock()
	if time.Since(g.checked) < checkEvery {
		return
	}
	g.checked, g.serviceAt, g.adopted = time.Now(), netip.AddrPort{}, false
	g.mu.Lock()
	defer g.mu.Unlock()
	for who, a := range g.accounts {
		next := *a
		next.unread, next.host = true, ""
		g.accounts[who] = &next
	}
}

// sweep removes the credentials that no workload has named for some time, and with the last of them
// the Service.
func (g *Gateway) sweep(ctx context.Context, named map[identity]string) error {
	client, err := g.Clients.For(target.RootSpace)
	if err != nil {
		return err
	}
	g.providing.Lock()
	defer g.providing.Unlock()
	if err := g.adopt(ctx, client); err != nil {
		return err
	}
	var errs []error
	unused := g.unused(named)
	for _, who := range sorted(unused) {
		at := unused[who]
		g.put(who, nil)
		if err := g.remember(who, nil); err != nil {
			errs = append(errs, err)
		}
		err := g.As(client, who.space, who.namespace).DropCredentials(ctx, at, who.name, !g.uses(at))
		switch {
		case err == nil:
		case apierrors.IsForbidden(err) && !g.has(who, at):
			// With its Namespace the space has lost its rights there, and what was in it is gone or is left
			// to others. The token is good for nothing any more.
			g.Log.Debug("credentials are left where the space has no rights any more", "namespace", at, "err", err)
		default:
			g.put(who, &account{at: at, unread: true}) // it is tried again
			errs = append(errs, fmt.Errorf("remove the credentials of ServiceAccount %s in namespace %s: %w; or delete "+
				"the Secret %s there", who.name, at, err, store.PodAPISecret(who.name)))
		}
	}
	if len(unused) > 0 && len(named) == 0 && len(errs) == 0 && !g.uses("") {
		g.serviceAt = netip.AddrPort{}
		errs = append(errs, client.DropGateway(ctx))
	}
	return errors.Join(errs...)
}

// sorted has accounts in one order, so that equal failures are told in equal words.
func sorted(of map[identity]string) []identity {
	return slices.SortedFunc(maps.Keys(of), func(a, b identity) int {
		return cmp.Or(cmp.Compare(a.space, b.space), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
}

// has reports whether the namespace of an account is still its space's, under that name at the target.
func (g *Gateway) has(who identity, at string) bool {
	prefix, there := g.Inventory.Prefix(who.space, who.namespace)
	return there && target.Mapping(prefix).There(who.namespace) == at
}

// adoptNow takes over what an earlier run has kept, and reports whether it has.
func (g *Gateway) adoptNow(ctx context.Context) bool {
	client, err := g.Clients.For(target.RootSpace)
	if err == nil {
		g.providing.Lock()
		defer g.providing.Unlock()
		err = g.adopt(ctx, client)
	}
	return err == nil
}

// adopt notes what an earlier run has kept whose record was lost. It goes some minutes later where no
// workload names it, and is written anew where one does. A Secret that is not where the space's
// namespace is was made by somebody else, and is left alone.
func (g *Gateway) adopt(ctx context.Context, client *target.Client) error {
	if g.adopted {
		return nil
	}
	kept, err := client.ListCredentials(ctx)
	if err != nil {
		return fmt.Errorf("list the credentials of ServiceAccounts: %w", err)
	}
	for _, k := range kept {
		who := identity{k.Space, k.SpaceNamespace, k.Account}
		if g.has(who, k.Namespace) && g.account(who) == nil {
			g.put(who, &account{at: k.Namespace, seen: time.Now(), unread: true})
		}
	}
	g.adopted = true
	return nil
}

// unused are the accounts that no workload has named for some time, with their namespaces at the
// target.
func (g *Gateway) unused(named map[identity]string) map[identity]string {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := map[identity]string{}
	for who, a := range g.accounts {
		if _, used := named[who]; !used && time.Since(a.seen) >= unusedTime {
			out[who] = a.at
		}
	}
	return out
}

// uses reports whether credentials are kept in a namespace of the target; "" is any.
func (g *Gateway) uses(at string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, a := range g.accounts {
		if at == "" || a.at == at {
			return true
		}
	}
	return false
}

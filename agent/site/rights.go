package site

import (
	"context"
	"fmt"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/store"
)

// spaceFacts is what the policy asks about a space here, see policy.Policy.Rights.
type spaceFacts struct {
	inventory *inventory.Inventory
	space     string
}

// Owns implements policy.SpaceFacts. A namespace that was there before may have accounts and objects
// of the site.
func (f spaceFacts) Owns(namespace string) bool {
	r, known := f.inventory.Get(inventory.NamespaceKey(f.space, namespace))
	return known && r.UID != "" && r.Created
}

// HasClusterRole implements policy.SpaceFacts.
func (f spaceFacts) HasClusterRole(name string) bool {
	r, known := f.inventory.Get(store.Key{
		Space: f.space, Group: "rbac.authorization.k8s.io", Resource: "clusterroles", Name: name,
	})
	return known && r.UID != ""
}

// permitRights refuses a Role, ClusterRole or binding that the site has not opened, and gives the
// space's account what it needs to write the others. They are never written as the agent, which may
// have all rights: the cluster lets an account give away only what it has.
func (g *Gate) permitRights(ctx context.Context, o *Object, p *policy.Policy) error {
	if !g.Impersonate || g.Accounts.none.Load() {
		return &policy.Refusal{Reason: policy.ReasonRights, Message: "the agent writes with its own rights here " +
			"(--impersonate=false, or a cluster without RBAC), so that nothing would bound what a space gives away"}
	}
	body, err := o.Mapping.BodyHere(o.Key, o.Body) // facts are in the words of the space
	if err != nil {
		return err
	}
	facts := spaceFacts{g.Inventory, o.Key.Space}
	if err := p.Rights(o.Key.Space, o.Key.Namespace, o.Key.Resource, o.Key.Name, body, facts); err != nil {
		return err
	}
	if o.Record.UID != "" {
		return nil
	}
	if o.Key.Namespace == "" {
		return o.Client.EnsureAccount(ctx, o.Key.Space)
	}
	if err := o.Client.OpenRights(ctx, o.Key.Space, o.At.Namespace, workloadRules()); err != nil {
		return fmt.Errorf("let space %s give rights in namespace %s: %w", o.Key.Space, o.At.Namespace, err)
	}
	return nil
}

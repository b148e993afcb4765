package apply

import (
	"context"
	"fmt"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/site"
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
func (a *Applier) permitRights(ctx context.Context, t *task, p *policy.Policy) error {
	if !a.Gate.Impersonate || a.Gate.Accounts.None() {
		return &policy.Refusal{Reason: policy.ReasonRights, Message: "the agent writes with its own rights here " +
			"(--impersonate=false, or a cluster without RBAC), so that nothing would bound what a space gives away"}
	}
	body, err := t.mapping.BodyHere(t.Key, t.Body) // facts are in the words of the space
	if err != nil {
		return err
	}
	facts := spaceFacts{a.Inventory, t.Key.Space}
	if err := p.Rights(t.Key.Space, t.Key.Namespace, t.Key.Resource, t.Key.Name, body, facts); err != nil {
		return err
	}
	if t.record.UID != "" {
		return nil
	}
	if t.Key.Namespace == "" {
		return t.client.EnsureAccount(ctx, t.Key.Space)
	}
	if err := t.client.OpenRights(ctx, t.Key.Space, t.at.Namespace, site.WorkloadRules()); err != nil {
		return fmt.Errorf("let space %s give rights in namespace %s: %w", t.Key.Space, t.at.Namespace, err)
	}
	return nil
}

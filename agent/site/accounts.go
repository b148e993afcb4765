package site

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// Accounts are the identities by which spaces write in their namespaces. They exist where the
// target has RBAC.
type Accounts struct {
	*Config
	none atomic.Bool // the target has no RBAC

	making sync.Mutex // held by the one worker that asks for roles at the target, which may take a while
	roles  bool       // they exist

	held    atomic.Bool // their namespace has our annotation
	foreign error       // it has another one's, and was looked at then
	looked  time.Time
}

// Writer returns the client that writes an object. Objects in a space's namespaces are written as
// the space's own account. The agent itself writes Namespaces, definitions, cluster-scoped objects,
// and kinds that the site has opened. Roles and bindings it never writes itself.
func (a *Accounts) Writer(c *target.Client, k store.Key) *target.Client {
	if !a.impersonates() {
		return c
	}
	if policy.IsRights(k.Group) {
		return c.As(k.Space)
	}
	if k.Namespace == "" {
		return c
	}
	if !policy.Workload(k.Group, k.Resource) && !a.Definitions().defined(k) {
		return c
	}
	return c.As(k.Space)
}

// Acting returns the client that reaches into a space's Pods: it acts as whoever writes there.
func (a *Accounts) Acting(c *target.Client, space, namespace string) *target.Client {
	return a.Writer(c, store.Key{Space: space, Resource: "pods", Namespace: namespace})
}

// impersonates reports whether what is in the namespaces of spaces is written as the spaces' own
// accounts.
func (a *Accounts) impersonates() bool { return a.Impersonate && a.Sealed() && !a.none.Load() }

// Admit gives spaces the rights that go with a Namespace or a definition that was just written. It
// comes before that is recorded, so that a crash repeats it, also where the search after the crash has
// found the object; what the site's admin takes away later stays away.
func (a *Accounts) Admit(ctx context.Context, o *Object, created bool) error {
	switch class := o.Key.Class(); {
	case !a.Impersonate, !a.Sealed(), class == store.ClassOther, o.Record.UID != "" && !found(o.Record):
		return nil
	case class == store.ClassCRD && created:
		return a.admitDefinitions(ctx, o.Client, o.Key)
	case class == store.ClassCRD:
		return nil
	}
	if err := a.ensureRoles(ctx, o.Client); err != nil || a.none.Load() {
		return err
	}
	a.held.Store(false) // another center's agent may have taken what nobody used
	if err := a.hold(ctx, o.Client); err != nil {
		return err
	}
	if err := o.Client.EnsureAccount(ctx, o.Key.Space); err != nil {
		return fmt.Errorf("make the account of space %s: %w", o.Key.Space, err)
	}
	return o.Client.Bind(ctx, o.Key.Space, o.At.Name)
}

// found reports whether a record is of the search for the target's objects, which knows what is there
// and not what was written last.
func found(r inventory.Record) bool { return r.Applied == (store.Hash{}) && r.Owned == 0 }

// workloadRules are rules about the workload kinds of Kubernetes, without verbs.
func workloadRules() (rules []target.Rule) {
	for _, group := range slices.Sorted(maps.Keys(policy.Workloads())) {
		rules = append(rules, target.Rule{APIGroups: []string{group}, Resources: policy.Workloads()[group]})
	}
	return rules
}

func (a *Accounts) ensureRoles(ctx context.Context, c *target.Client) error {
	a.making.Lock()
	defer a.making.Unlock()
	if a.roles || a.none.Load() {
		return nil
	}
	rules := workloadRules()
	owner := a.Rules.Owner()
	if len(owner.Centers) == 0 {
		return errNoCenter
	}
	err := c.EnsureRoles(ctx, rules, owner)
	if errors.Is(err, target.ErrNotServed) {
		a.none.Store(true)
		a.Log.Warn("the target has no RBAC; what spaces have there is written with the agent's own rights")
		return nil
	}
	if err != nil {
		return err
	}
	a.roles = true
	return nil
}

// admitDefinitions gives the accounts of spaces the right to custom resources of the definitions
// that came from spaces, and of the next one.
func (a *Accounts) admitDefinitions(ctx context.Context, c *target.Client, next store.Key) error {
	if err := a.ensureRoles(ctx, c); err != nil || a.none.Load() {
		return err
	}
	a.making.Lock()
	defer a.making.Unlock()
	names := map[string]bool{}
	if next.Name != "" {
		names[next.Name] = true
	}
	a.Inventory.Any(func(k store.Key, r inventory.Record) bool {
		if k.Class() == store.ClassCRD && r.Created && r.UID != "" {
			names[k.Name] = true
		}
		return false
	})
	groups := map[string][]string{}
	for name := range names {
		plural, group, _ := strings.Cut(name, ".")
		groups[group] = append(groups[group], plural)
	}
	var rules []target.Rule
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		slices.Sort(groups[group])
		rules = append(rules, target.Rule{APIGroups: []string{group}, Resources: groups[group]})
	}
	if err := c.AddDefinitions(ctx, rules); err != nil {
		return fmt.Errorf("give spaces rights to their definitions: %w", err)
	}
	return nil
}

// AccountRefused reports whether the target's RBAC refused the account of a space.
func AccountRefused(err error) bool {
	var refused *target.AccountRefusedError
	return errors.As(err, &refused)
}

// Mend gives the account of a space, which was refused, what it lacks by no will of the
// site's admin.
func (a *Accounts) Mend(ctx context.Context, o *Object) (err error) {
	if a.Definitions().defined(o.Key) {
		err = a.admitDefinitions(ctx, o.Client, store.Key{})
	}
	return errors.Join(err, o.Client.Rebind(ctx, o.Key.Space, o.Key.Namespace))
}

// recheckSpaces is how long it is believed that the namespace of the accounts is another center's.
const recheckSpaces = 10 * time.Second

// hold refuses to write for spaces while the namespace of their accounts is of another
// center's spaces.
func (a *Accounts) hold(ctx context.Context, c *target.Client) error {
	if !a.impersonates() || a.held.Load() {
		return nil
	}
	a.making.Lock()
	defer a.making.Unlock()
	if a.held.Load() {
		return nil
	}
	if a.foreign != nil && time.Since(a.looked) < recheckSpaces {
		return a.foreign
	}
	owner := a.Rules.Owner()
	if len(owner.Centers) == 0 {
		return errNoCenter
	}
	held, err := c.HoldSpaces(ctx, owner)
	var foreign *target.ForeignSpacesError
	if errors.As(err, &foreign) {
		if a.foreign == nil {
			a.Log.Error("nothing is written for spaces", "err", err)
		}
		a.foreign = &policy.Refusal{Reason: policy.ReasonAccounts, Message: foreign.Error()}
		a.looked = time.Now()
		return a.foreign
	}
	a.foreign = nil
	a.held.Store(held)
	return err
}

// errNoCenter is returned before the first session has said which center this is.
var errNoCenter = errors.New("it is not known yet which center this site belongs to")

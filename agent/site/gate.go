package site

import (
	"errors"
	"log/slog"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// Rules are what the owner of the site decides about the spaces that write to its cluster.
type Rules interface {
	// Policy returns what the site allows now.
	Policy() *policy.Policy
	// Owner returns whose spaces these are, for the namespace of their accounts. It has no centers
	// before that is known.
	Owner() target.SpacesOwner
}

// Desired is the copy of what the parent wants. apply.Desired is one.
type Desired interface {
	// Get returns one entry with its body.
	Get(k store.Key) (store.Entry, bool, error)
}

// Config is what a Gate knows of the site.
type Config struct {
	// Rules are nil for a relay, whose own sites decide.
	Rules Rules
	// Impersonate writes what is in the namespaces of spaces as the spaces' own ServiceAccounts at
	// the target. It needs Rules.
	Impersonate bool
	// Desired is the copy of what the parent wants.
	Desired   Desired
	Inventory *inventory.Inventory
	Clients   *target.Clients
	Log       *slog.Logger
}

// Sealed reports whether the site's policy applies to this target. The spaces of a relay are
// isolated from each other already.
func (c *Config) Sealed() bool { return c.Rules != nil }

// Definitions are those that spaces have here.
func (c *Config) Definitions() Definitions { return Definitions{c.Inventory} }

// Gate decides what the spaces of a center may have at this cluster.
type Gate struct {
	Config
	Accounts Accounts
	Hosts    Hosts
	Mirrors  Mirrors
	Denials  Denials
}

// New returns a Gate. Its Rules and Impersonate may be set until it is used.
func New(c Config) *Gate {
	g := &Gate{Config: c}
	g.Accounts.Config, g.Hosts.Config = &g.Config, &g.Config
	return g
}

// Object is what a space wishes to have at the target.
type Object struct {
	store.Entry                  // its Body is in the names of the target
	Head        *target.Object   // what Body says
	Record      inventory.Record // the zero Record when there is none
	Client      *target.Client   // reads
	Resource    target.Resource
	Mapping     target.Mapping // of the space's namespaces, there
	At          store.Key      // the key in the names of the target
	Existed     bool           // a Namespace that was there before its space took it
	// What the gate finds out: what the object takes from the network of the site, where it does, and
	// which of its webhooks the site does not call, and why.
	Exposed *policy.Exposed
	Left    []string
}

// kind is the resource of an object, as people name it.
func (o *Object) kind() string { return kindOf(o.Key) }

// MappingOf is what the namespaces of a key's space are called on the target, as far as its object
// goes. What is there stays where it is, and what is made goes to where the Namespace of its space
// is; a Namespace that is made has the name that it says itself.
func (g *Gate) MappingOf(k store.Key, r inventory.Record, says *target.Object) target.Mapping {
	if r.UID != "" {
		return target.Mapping(r.Prefix)
	}
	if k.Namespace != "" {
		if prefix, there := g.Inventory.Prefix(k.Space, k.Namespace); there {
			return target.Mapping(prefix)
		}
	}
	return g.Clients.Mapping(says)
}

func isNotServed(err error) bool { return errors.Is(err, target.ErrNotServed) }

package site

import (
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

// Config is what a Gate knows of the site.
type Config struct {
	// Rules are nil for a relay, whose own sites decide.
	Rules Rules
	// Impersonate writes what is in the namespaces of spaces as the spaces' own ServiceAccounts at
	// the target. It needs Rules.
	Impersonate bool
	Inventory   *inventory.Inventory
	Clients     *target.Clients
	Log         *slog.Logger
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
}

// New returns a Gate. Its Rules and Impersonate may be set until it is used.
func New(c Config) *Gate {
	g := &Gate{Config: c}
	g.Accounts.Config = &g.Config
	return g
}

// Object is what a space wishes to have at the target.
type Object struct {
	store.Entry                  // its Body is in the names of the target
	Head        *target.Object   // of Body
	Record      inventory.Record // the zero Record when there is none
	Client      *target.Client   // reads
	Resource    target.Resource
	Mapping     target.Mapping // of the space's namespaces, there
	At          store.Key      // the key in the names of the target
}

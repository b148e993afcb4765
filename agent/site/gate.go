package site

import (
	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
)

// Config is what a Gate knows of the site.
type Config struct {
	Inventory *inventory.Inventory
	Clients   *target.Clients
}

// Gate decides what the spaces of a center may have at this cluster.
type Gate struct{ Config }

// New returns a Gate.
func New(c Config) *Gate { return &Gate{Config: c} }

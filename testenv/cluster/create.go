package cluster

import (
	"context"
	"fmt"
	"net/netip"
	"os"
)

// create makes the directory and the network, and records both.
func (u *up) create(ctx context.Context, name string) error {
	c := &Cluster{
		Name:    name,
		Kind:    u.options.Kind,
		Place:   u.options.Place,
		Persist: u.options.Persist,
		Nodes:   u.options.Nodes,
		Bin:     u.options.Kit.Bin,
		dir:     u.state.clusterDir(name),
	}
	if n := len(c.path(storeSocket)); n > maxSocketPath {
		return fmt.Errorf("%s is too long for a unix socket (%d bytes, at most %d): set %s to a shorter directory",
			c.path(storeSocket), n, maxSocketPath, StateVariable)
	}
	if err := os.Mkdir(c.dir, 0o700); err != nil {
		return err
	}
	u.cluster = c
	for _, dir := range []string{"processes", "log", "volumes"} {
		if err := os.Mkdir(c.path(dir), 0o700); err != nil {
			return err
		}
	}
	switch {
	case c.Place != nil:
		c.Address = c.Place.Address
		return c.save()
	case c.Kind == Real:
		return u.createNetwork(ctx)
	}
	return u.reserveLoopback(ctx)
}

// reserveLoopback records an address that no other cluster has.
func (u *up) reserveLoopback(ctx context.Context) error {
	lock, err := u.state.lock(ctx, "addresses")
	if err != nil {
		return err
	}
	defer lock.Release()
	all, err := u.state.List()
	if err != nil {
		return err
	}
	address, err := firstFree(all, func(address netip.Addr) bool {
		u.claim = claim(address)
		return u.claim != nil
	})
	if err != nil {
		return err
	}
	u.cluster.Address = address.String()
	return u.cluster.save()
}

// maxSocketPath is the size of sockaddr_un's path on Linux, less its final zero.
const maxSocketPath = 107

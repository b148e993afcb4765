package fault

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"skerry.dev/skerry/testenv/netns"
	"skerry.dev/skerry/testenv/process"
)

// Up makes a network with these hosts and no faults.
func (s Nets) Up(ctx context.Context, name string, hosts []string) (*Net, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("a network with faults needs root")
	}
	for _, n := range append([]string{name}, hosts...) {
		if !validName.MatchString(n) {
			return nil, fmt.Errorf("name %q: want a lower-case letter, then at most 19 lower-case letters, digits and dashes", n)
		}
	}
	if len(hosts) == 0 || len(hosts) > maxHosts {
		return nil, fmt.Errorf("%d hosts: want 1 to %d", len(hosts), maxHosts)
	}
	lock, err := s.lock(ctx, name)
	if err != nil {
		return nil, err
	}
	defer lock.Release()
	n := &Net{Name: name, dir: filepath.Join(s.dir, name)}
	if err := os.Mkdir(n.dir, 0o700); errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("network %s exists: take it down first with: testenv net down %s", name, name)
	} else if err != nil {
		return nil, err
	}
	if err := n.up(ctx, hosts); err != nil {
		err = fmt.Errorf("make network %s: %w", name, err)
		return nil, errors.Join(err, n.routerLog(), n.remove(context.WithoutCancel(ctx)))
	}
	return n, nil
}

func (n *Net) up(ctx context.Context, hosts []string) error {
	for i, name := range hosts {
		h := Host{Name: name, Index: i + 1, NetNS: n.router() + "." + name}
		h.Address = netip.AddrFrom4([4]byte{10, 203, byte(h.Index), 2})
		n.Hosts = append(n.Hosts, h)
	}
	// From here on Down finds whatever is made.
	if err := n.save(); err != nil {
		return err
	}
	if err := netns.Add(ctx, n.router()); err != nil {
		return err
	}
	for i := range n.Hosts {
		if err := n.addHost(ctx, &n.Hosts[i]); err != nil {
			return fmt.Errorf("host %s: %w", n.Hosts[i].Name, err)
		}
	}
	if err := n.save(); err != nil {
		return err
	}
	return n.startRouter(ctx)
}

func (n *Net) addHost(ctx context.Context, h *Host) error {
	if err := netns.Add(ctx, h.NetNS); err != nil {
		return err
	}
	uplink, err := netns.Connect(ctx, h.NetNS)
	if err != nil {
		return err
	}
	h.Uplink = uplink.Inside
	for _, args := range [][]string{
		{"link", "add", h.leg(), "netns", n.router(), "type", "veth", "peer", "name", hostDevice, "netns", h.NetNS},
		{"-n", n.router(), "addr", "add", h.gateway() + "/24", "dev", h.leg()},
		{"-n", n.router(), "link", "set", h.leg(), "up"},
		{"-n", h.NetNS, "addr", "add", h.Address.String() + "/24", "dev", hostDevice},
	} {
		if err := netns.IP(ctx, args...); err != nil {
			return err
		}
	}
	return h.linkUp(ctx)
}

// linkUp sets the host's link up, with the route that goes whenever it is down.
func (h *Host) linkUp(ctx context.Context) error {
	err := netns.IP(ctx, "-n", h.NetNS, "link", "set", hostDevice, "up")
	if err != nil {
		return err
	}
	return netns.IP(ctx, "-n", h.NetNS, "route", "replace", netRange, "via", h.gateway(), "dev", hostDevice)
}

func (n *Net) startRouter(ctx context.Context) error {
	table := n.processes()
	if err := os.Mkdir(table.Dir, 0o700); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	running, err := table.Start(process.Command{
		Role:  "router",
		Args:  []string{self, RouterCommand, n.dir},
		Dir:   n.dir,
		Log:   n.logFile(),
		NetNS: netns.File(n.router()),
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		err := n.send(ctx, n.Rules)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-running.Done:
			return errors.New("the router ended")
		case <-ctx.Done():
			return err
		}
	}
}

func (n *Net) logFile() string { return filepath.Join(n.dir, "router.log") }

// routerLog returns what the router said, as an error.
func (n *Net) routerLog() error {
	data, err := os.ReadFile(n.logFile())
	if err != nil || len(data) == 0 {
		return nil // it did not start
	}
	return errors.New("router: " + string(data))
}

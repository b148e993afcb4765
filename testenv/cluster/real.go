package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"skerry.dev/skerry/testenv/artifact"
	"skerry.dev/skerry/testenv/cgroup"
	"skerry.dev/skerry/testenv/netns"
	"skerry.dev/skerry/testenv/node"
	"skerry.dev/skerry/testenv/process"
)

// hidden are directories that a node replaces by its own: the state directory
// must not be below one of them.
var hidden = []string{"/run/", "/var/run/", "/var/log/", "/var/lib/kubelet/", "/var/lib/containerd/", "/proc/", "/sys/"}

// check says why a cluster of the kind cannot run here.
func (s State) check(kind Kind) error {
	if kind != Real {
		return nil
	}
	if os.Geteuid() != 0 {
		return errors.New("a real cluster needs root; a simulated one does not")
	}
	for _, dir := range hidden {
		if strings.HasPrefix(s.dir+"/", dir) {
			return fmt.Errorf("state directory %s: a real cluster's node has a %s of its own: set %s to a "+
				"directory elsewhere", s.dir, dir, StateVariable)
		}
	}
	for _, command := range []string{"ip", "iptables", "runc", "conntrack"} {
		if _, err := exec.LookPath(command); err != nil {
			return fmt.Errorf("%w; install what is missing with: testenv install", err)
		}
	}
	return nil
}

// createNetwork makes the network namespace with an uplink to the host.
func (u *up) createNetwork(ctx context.Context) error {
	c := u.cluster
	if err := c.save(); err != nil {
		return err
	}
	if err := netns.Add(ctx, c.NetNS()); err != nil {
		return err
	}
	uplink, err := netns.Connect(ctx, c.NetNS())
	if err != nil {
		return err
	}
	c.Address = uplink.Inside.String()
	if err := c.save(); err != nil {
		return err
	}
	// The kubelet and kube-proxy look for a default route. It leads to the host
	// itself, and no further unless the host forwards.
	return netns.IP(ctx, "-n", c.NetNS(), "route", "add", "default", "via", uplink.Host.String())
}

// netNSFile returns the file of the cluster's network namespace, or "".
func (c *Cluster) netNSFile() string {
	name := c.NetNS()
	if name == "" {
		return ""
	}
	return netns.File(name)
}

// leavePlace removes what a real cluster's programs leave in a network namespace
// that is not the cluster's own: kube-proxy's rules. Pods take their devices along.
func (c *Cluster) leavePlace(ctx context.Context) error {
	if c.Place == nil || c.Kind != Real {
		return nil
	}
	if _, err := os.Stat(c.netNSFile()); err != nil {
		return nil // it has gone, and everything in it
	}
	var errs []error
	for _, table := range []string{"filter", "nat", "mangle"} {
		for _, action := range []string{"--flush", "--delete-chain"} {
			errs = append(errs, netns.IP(ctx, "netns", "exec", c.NetNS(), "iptables", "--table", table, action))
		}
	}
	return errors.Join(errs...)
}

// startNode starts the node: its first process waits for the API server itself.
func (u *up) startNode(ctx context.Context) error {
	c := u.cluster
	// After a loss of power the groups of the lost pods are still there, and a
	// new kubelet would spend most of a minute on them.
	if err := errors.Join(cgroup.Remove(ctx, c.unique()), cgroup.Create(c.unique())); err != nil {
		return err
	}
	spec := node.Spec{
		Name:       c.NodeName(1),
		Dir:        c.path("node"),
		Log:        c.path("log"),
		Bin:        c.Bin,
		Images:     u.options.Kit.Images,
		PKI:        c.path("pki"),
		Kubelet:    c.path("kubelet.kubeconfig"),
		Proxy:      c.path("proxy.kubeconfig"),
		Server:     c.Server(),
		Address:    c.Address,
		PodRange:   nodePodRange,
		DNS:        dnsServiceIP,
		Cgroup:     c.unique(),
		PauseImage: artifact.PauseImage,
	}
	data, err := json.MarshalIndent(spec, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.path("node.json"), data, 0o600); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return u.spawn(process.Command{
		Role:    nodeRole,
		Args:    []string{self, node.InitCommand, c.path("node.json")},
		NetNS:   c.netNSFile(),
		Isolate: true,
	})
}

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
			return fmt.Errorf("state directory %s: a real cluster's node has a %s of its own: set %s to a directory elsewhere", s.dir, dir, StateVariable)
		}
	}
	for _, command := range []string{"ip", "iptables", "runc", "conntrack"} {
		if _, err := exec.LookPath(command); err != nil {
			return fmt.Errorf("%w; install what is missing with: testenv install", err)
		}
	}
	return nil
}

// createNetwork makes the network namespace with a veth to the host, whose name
// and addresses are the first that are free.
func (u *up) createNetwork(ctx context.Context, all []*Cluster) error {
	c := u.cluster
	skip := map[int]bool{}
	for {
		var err error
		c.Index, err = firstFree(all, Real, func(i int) bool { return !skip[i] && vethFree(i) })
		if err != nil {
			return err
		}
		v := vethFor(c.Index)
		c.Address = v.Cluster.String()
		if err := c.save(); err != nil {
			return err
		}
		if len(skip) == 0 {
			if err := netns.Add(ctx, c.NetNS()); err != nil {
				return err
			}
		}
		err = netns.IP(ctx, "link", "add", v.Device, "type", "veth", "peer", "name", "eth0", "netns", c.NetNS())
		if errors.Is(err, netns.ErrExists) {
			skip[c.Index] = true // another state directory was faster
			continue
		}
		if err != nil {
			return err
		}
		return connect(ctx, c.NetNS(), v)
	}
}

func connect(ctx context.Context, namespace string, v veth) error {
	host := fmt.Sprintf("%s/%d", v.Host, vethPrefix)
	inside := fmt.Sprintf("%s/%d", v.Cluster, vethPrefix)
	for _, args := range [][]string{
		{"addr", "add", host, "dev", v.Device},
		{"link", "set", v.Device, "up"},
		{"-n", namespace, "addr", "add", inside, "dev", "eth0"},
		{"-n", namespace, "link", "set", "eth0", "up"},
		// The kubelet and kube-proxy look for a default route. It leads to the
		// host itself and no further, unless the host forwards.
		{"-n", namespace, "route", "add", "default", "via", v.Host.String()},
	} {
		if err := netns.IP(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) netNSFile() string {
	if c.Kind != Real {
		return ""
	}
	return netns.File(c.NetNS())
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

// Package cluster brings test clusters up and takes them down.
//
// A simulated cluster is one process: kine, API server, controllers, scheduler
// and kwok, on a loopback address of its own. It needs no root. A real cluster
// adds a network namespace with a veth to the host, and one node whose kubelet,
// containerd and kube-proxy live in mount and pid namespaces of their own, so
// that every cluster has the usual paths and the same address ranges inside.
//
// Life of a cluster: its directory and cluster.json are written before anything
// else exists, with names from which everything is found again; Up then makes
// namespaces, files and processes; Down removes, in the reverse order, whatever
// of that is there. So Down is right after a crash at any point of Up. A lock
// per name keeps Up and Down of one cluster apart.
//
// The command line and the scenarios import this package.
package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"

	"skerry.dev/skerry/testenv/process"
)

// Kind is the tier of a cluster.
type Kind string

// The kinds of cluster.
const (
	Real      Kind = "real"
	Simulated Kind = "simulated"
)

// ParseKind returns the kind with that name.
func ParseKind(s string) (Kind, error) {
	switch k := Kind(s); k {
	case Real, Simulated:
		return k, nil
	}
	return "", fmt.Errorf("kind %q: want %s or %s", s, Real, Simulated)
}

// Cluster is what cluster.json says: enough to find everything that Up made.
type Cluster struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind"`
	// Address is where the API server listens, without the port.
	Address string `json:"address"`
	// Place is where the cluster is if not on the machine itself.
	Place *Place `json:"place,omitempty"`
	// Persist says that the store is a file that survives a restart.
	Persist bool `json:"persist"`
	// Nodes is how many nodes a simulated cluster has; a real one has one.
	Nodes int `json:"nodes"`
	// Bin is the directory of programs that the cluster runs.
	Bin string `json:"bin"`
	// Ready says that Up finished.
	Ready bool `json:"ready"`

	dir string
}

// Server returns the URL of the API server.
func (c *Cluster) Server() string { return fmt.Sprintf("https://%s:%d", c.Address, apiPort) }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (c *Cluster) Kubeconfig() string { return c.path("kubeconfig") }

// Dir returns the directory that holds everything of the cluster.
func (c *Cluster) Dir() string { return c.dir }

// Place is a network namespace that somebody else has made, and takes away.
type Place struct {
	// Host names it for people: NETWORK/HOST.
	Host string `json:"host"`
	// NetNS is its name.
	NetNS string `json:"netns"`
	// Address is where this machine reaches it; Others are its other addresses.
	Address string   `json:"address"`
	Others  []string `json:"others"`
}

// NetNS returns the name of the cluster's network namespace, for
// "ip netns exec", or "" for the machine's own.
func (c *Cluster) NetNS() string {
	switch {
	case c.Place != nil:
		return c.Place.NetNS
	case c.Kind == Real:
		return c.unique()
	}
	return ""
}

// NodeName returns the name of node i, which counts from 1.
func (c *Cluster) NodeName(i int) string { return fmt.Sprintf("%s-node-%d", c.Name, i) }

// Ports are fixed: each cluster has an address of its own.
const (
	apiPort     = 6443
	kubeletPort = 10250
)

func (c *Cluster) path(elem ...string) string {
	return filepath.Join(append([]string{c.dir}, elem...)...)
}

func (c *Cluster) processes() process.Table { return process.Table{Dir: c.path("processes")} }

// unique is a name for things that are visible on the whole machine. It differs
// for clusters of one name in two state directories.
func (c *Cluster) unique() string {
	sum := sha256.Sum256([]byte(filepath.Dir(c.dir)))
	return "skt-" + hex.EncodeToString(sum[:3]) + "-" + c.Name
}

var validName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,29}$`)

func checkName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("cluster name %q: want a lower-case letter, then at most 29 lower-case letters, "+
			"digits and dashes", name)
	}
	return nil
}

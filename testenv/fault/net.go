// Package fault makes networks with faults: hosts, which are network
// namespaces, behind a router that delays, drops or cuts what passes between
// them. The faults are in the router alone, so the ends see what they would see
// of a bad network: silence. It needs root.
//
// Host i has the address 10.203.i.2. It has no way out: no default route, so that with its link
// down no packet takes another way. An uplink (package netns) lets the machine itself reach what
// listens in a host, without passing the router.
//
// As with clusters, what is made follows from a file that is written first, so
// Down is right after a crash at any point.
package fault

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"skerry.dev/skerry/testenv/filelock"
	"skerry.dev/skerry/testenv/process"
)

// Net is a network.
type Net struct {
	Name  string `json:"name"`
	Hosts []Host `json:"hosts"`
	// Rules are the faults in force.
	Rules Rules `json:"rules"`

	dir string
}

// Host is a host of a network.
type Host struct {
	Name string `json:"name"`
	// Index counts from 1; addresses and devices follow from it.
	Index int `json:"index"`
	// NetNS is the name of its network namespace.
	NetNS string `json:"netns"`
	// Address is where other hosts reach it.
	Address netip.Addr `json:"address"`
	// Uplink is where the machine reaches it.
	Uplink netip.Addr `json:"uplink"`
	// Down says that its own link is down.
	Down bool `json:"down,omitempty"`
}

const (
	hostDevice = "net0"
	netRange   = "10.203.0.0/16"
	maxHosts   = 254
)

func (h Host) gateway() string { return fmt.Sprintf("10.203.%d.1", h.Index) }

// leg is the router's device that leads to the host.
func (h Host) leg() string { return fmt.Sprintf("host%d", h.Index) }

var validName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,19}$`)

// Nets is the networks of a state directory.
type Nets struct{ dir string }

// Open opens the networks of a state directory.
func Open(state string) (Nets, error) {
	dir := filepath.Join(state, "nets")
	return Nets{dir}, os.MkdirAll(dir, 0o755)
}

// Get returns a network.
func (s Nets) Get(name string) (*Net, error) {
	n, err := load(filepath.Join(s.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		names, err := s.names()
		if err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("no network %q: there is none; make one with: testenv net up %s HOST [HOST...]", name, name)
		}
		return nil, fmt.Errorf("no network %q; there are: %s", name, strings.Join(names, ", "))
	}
	return n, err
}

// List returns all networks.
func (s Nets) List() ([]*Net, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	var all []*Net
	for _, name := range names {
		n, err := load(filepath.Join(s.dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // taken down meanwhile
		}
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

func (s Nets) names() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Host returns a host by name.
func (n *Net) Host(name string) (*Host, error) {
	i := slices.IndexFunc(n.Hosts, func(h Host) bool { return h.Name == name })
	if i < 0 {
		var names []string
		for _, h := range n.Hosts {
			names = append(names, h.Name)
		}
		return nil, fmt.Errorf("network %s has no host %q; it has: %s", n.Name, name, strings.Join(names, ", "))
	}
	return &n.Hosts[i], nil
}

// load reads a network. A directory without net.json is what a crash left
// before anything else was made.
func load(dir string) (*Net, error) {
	n := &Net{Name: filepath.Base(dir), dir: dir}
	data, err := os.ReadFile(filepath.Join(dir, "net.json"))
	if errors.Is(err, fs.ErrNotExist) {
		_, err := os.Stat(dir)
		return n, err
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, n); err != nil {
		return nil, fmt.Errorf("read state of network %s: %w", n.Name, err)
	}
	return n, nil
}

func (n *Net) save() error {
	data, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return err
	}
	tmp := filepath.Join(n.dir, "net.json.new")
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(n.dir, "net.json"))
}

// router is the name of the router's network namespace. Hosts add a dot, which
// no name has, and their own.
func (n *Net) router() string {
	sum := sha256.Sum256([]byte(filepath.Dir(n.dir)))
	return "skn-" + hex.EncodeToString(sum[:3]) + "-" + n.Name
}

func (n *Net) processes() process.Table { return process.Table{Dir: filepath.Join(n.dir, "processes")} }

func (s Nets) lock(ctx context.Context, name string) (*filelock.Lock, error) {
	return filelock.Acquire(ctx, filepath.Join(s.dir, name+".lock"))
}

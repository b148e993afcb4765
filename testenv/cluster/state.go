package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// StateVariable names the directory that holds the clusters' state.
const StateVariable = "SKERRY_TESTENV_STATE"

// State is a directory of clusters. Its clusters/NAME are the clusters, its
// locks are files beside them that stay.
type State struct{ dir string }

// OpenState opens $SKERRY_TESTENV_STATE, by default /var/lib/skerry-testenv for
// root and $XDG_STATE_HOME/skerry-testenv for others.
func OpenState() (State, error) {
	dir := os.Getenv(StateVariable)
	if dir == "" {
		dir = "/var/lib/skerry-testenv"
		if os.Geteuid() != 0 {
			base := os.Getenv("XDG_STATE_HOME")
			if base == "" {
				home, err := os.UserHomeDir()
				if err != nil {
					return State{}, fmt.Errorf("%w; set %s", err, StateVariable)
				}
				base = filepath.Join(home, ".local", "state")
			}
			dir = filepath.Join(base, "skerry-testenv")
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return State{}, err
	}
	return State{dir}, os.MkdirAll(filepath.Join(dir, "clusters"), 0o755)
}

// Dir returns the state directory.
func (s State) Dir() string { return s.dir }

// UnknownError is returned for a cluster that does not exist.
type UnknownError struct {
	Name string
	// Existing are the names of the clusters that do.
	Existing []string
}

// Error says what there is, or how to start a cluster where there is none.
func (e *UnknownError) Error() string {
	if len(e.Existing) == 0 {
		return fmt.Sprintf("no cluster %q: there is none; start one with: testenv up --kind simulated %s", e.Name, e.Name)
	}
	return fmt.Sprintf("no cluster %q; there are: %s", e.Name, strings.Join(e.Existing, ", "))
}

// Get returns a cluster by name, or an [*UnknownError].
func (s State) Get(name string) (*Cluster, error) {
	c, err := s.load(name)
	if errors.Is(err, fs.ErrNotExist) {
		names, err := s.names()
		if err != nil {
			return nil, err
		}
		return nil, &UnknownError{Name: name, Existing: names}
	}
	return c, err
}

// List returns all clusters in the order of their names.
func (s State) List() ([]*Cluster, error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	var all []*Cluster
	for _, name := range names {
		c, err := s.load(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // taken down meanwhile
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func (s State) names() ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, "clusters"))
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

// load reads a cluster. A directory without cluster.json is all that an
// interrupted Up or Down left: it is a cluster about which only the name is
// known.
func (s State) load(name string) (*Cluster, error) {
	c := &Cluster{Name: name, dir: s.clusterDir(name)}
	data, err := os.ReadFile(c.path("cluster.json"))
	if errors.Is(err, fs.ErrNotExist) && validName.MatchString(name) {
		_, err := os.Stat(c.dir)
		return c, err
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, fmt.Errorf("read state of cluster %s: %w", name, err)
	}
	return c, nil
}

func (s State) clusterDir(name string) string { return filepath.Join(s.dir, "clusters", name) }

func (c *Cluster) save() error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	// cluster.json is all there or not at all, whenever a crash comes.
	tmp := c.path("cluster.json.new")
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, c.path("cluster.json"))
}

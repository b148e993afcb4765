package cluster

import (
	"path/filepath"

	"skerry.dev/skerry/testenv/filelock"
)

// Status says how a cluster is.
type Status string

// The states of a cluster.
const (
	// Running: every process that Up started lives.
	Running Status = "running"
	// Starting: Up is at work.
	Starting Status = "starting"
	// Stopped: Stop ended a part of it, and Start starts it again.
	Stopped Status = "stopped"
	// Broken: a process has ended, or Up or Down did not finish. Down removes
	// what is there.
	Broken Status = "broken"
)

// Status looks at the cluster's processes.
func (c *Cluster) Status() (Status, error) {
	records, err := c.processes().Records()
	if err != nil {
		return "", err
	}
	if !c.Ready {
		return c.unfinished()
	}
	status := Running
	for _, part := range c.Parts() {
		record, started := records[string(part)]
		switch {
		case !started:
			status = Stopped
		case !record.Alive():
			return c.unfinished()
		}
	}
	return status, nil
}

// unfinished tells a cluster that is coming up from one that is broken: who
// brings it up holds its lock.
func (c *Cluster) unfinished() (Status, error) {
	state := State{filepath.Dir(filepath.Dir(c.dir))}
	held, err := filelock.Held(state.lockFile("cluster-" + c.Name))
	if held {
		return Starting, err
	}
	return Broken, err
}

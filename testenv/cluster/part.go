package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"skerry.dev/skerry/testenv/kube"
)

// Part is what of a cluster can fail alone.
type Part string

// The parts of a cluster.
const (
	// Server is the control plane with its store.
	Server Part = "server"
	// Node is the node of a real cluster with all its pods.
	Node Part = "node"
)

const (
	serverRole = string(Server)
	nodeRole   = string(Node)
)

// Parts returns the cluster's parts.
func (c *Cluster) Parts() []Part {
	if c.Kind == Real {
		return []Part{Server, Node}
	}
	return []Part{Server}
}

func (c *Cluster) hasPart(part Part) bool {
	for _, p := range c.Parts() {
		if p == part {
			return true
		}
	}
	return false
}

// stopGrace is how long a part has to end by itself.
const stopGrace = 10 * time.Second

// Stop ends a part of a cluster and leaves everything else, until Start. With
// powerLoss the part gets no chance to end in order.
func (s State) Stop(ctx context.Context, name string, part Part, powerLoss bool) error {
	c, err := s.Get(name)
	if err != nil {
		return err
	}
	if !c.hasPart(part) {
		return fmt.Errorf("a %s cluster has no part %q; it has %v", c.Kind, part, c.Parts())
	}
	if part == Server && !c.Persist {
		return fmt.Errorf("the objects of cluster %s are in its control plane's memory: only one that was started with "+
			"--persist can be stopped and started", name)
	}
	lock, err := s.lock(ctx, "cluster-"+name)
	if err != nil {
		return err
	}
	defer lock.Release()
	if powerLoss {
		return c.processes().Kill(string(part))
	}
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	return c.processes().Stop(ctx, string(part))
}

// Start starts the parts of a cluster that do not run and returns when its
// nodes are ready. On an error nothing is taken down.
func (s State) Start(ctx context.Context, name string, o Options) error {
	lock, err := s.lock(ctx, "cluster-"+name)
	if err != nil {
		return err
	}
	defer lock.Release()
	c, err := s.Get(name)
	if err != nil {
		return err
	}
	if !c.Ready {
		return fmt.Errorf("cluster %s never was ready: take it down with: testenv down %s", name, name)
	}
	records, err := c.processes().Records()
	if err != nil {
		return err
	}
	if !records[serverRole].Alive() && !c.Persist {
		return fmt.Errorf("the objects of cluster %s were in its control plane's memory and are lost: take it down "+
			"with: testenv down %s", name, name)
	}
	access, err := kube.ReadKubeconfig(c.Kubeconfig())
	if err != nil {
		return err
	}
	c.Bin = o.Kit.Bin
	u := newUp(s, o)
	defer u.onEnd()
	u.cluster, u.client = c, kube.NewClient(access)
	if err := errors.Join(c.save(), u.start(ctx)); err != nil {
		return err
	}
	ctx, cancel := u.deadline(ctx)
	defer cancel()
	if err := kube.Wait(ctx, u.ended.Done(), u.client.Ready); err != nil {
		return fmt.Errorf("wait for the API server: %w", err)
	}
	return u.waitReady(ctx)
}

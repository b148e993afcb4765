package services

import (
	"context"
	"encoding/json"
	"net"
	"net/netip"
	"sync"
	"time"

	"skerry.dev/skerry/agent/target"
)

// nodesTime is for how long what is known of the nodes is believed. The loop of Run asks again before.
const nodesTime = 4 * lookEvery

// nodes are those of the site's cluster, as far as their addresses go.
type nodes struct {
	mu   sync.Mutex
	all  *network
	when time.Time
}

// network is what has which addresses.
type network struct {
	nodes map[netip.Addr]string // names, empty for addresses of this machine that no node has
	pods  []netip.Prefix        // where Pods get their addresses
}

// has reports whether a node has an address, also by its bridge to its own Pods.
func (n *network) has(at netip.Addr) bool {
	_, is := n.nodes[at]
	return is
}

// maybePod reports whether a Pod may have an address, as far as the nodes say which ones Pods get.
func (n *network) maybePod(at netip.Addr) bool {
	for _, p := range n.pods {
		if p.Contains(at) {
			return true
		}
	}
	return false
}

// now is what is known of them, nil for nothing.
func (n *nodes) now() *network {
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Since(n.when) > nodesTime {
		return nil
	}
	return n.all
}

var nodesResource = target.Resource{Version: "v1", Plural: "nodes"}

// look asks the cluster for its nodes.
func (n *nodes) look(ctx context.Context, c *target.Client) error {
	all := &network{nodes: map[netip.Addr]string{}}
	here, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	for _, a := range here {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			all.nodes[p.Addr().Unmap()] = ""
		}
	}
	if _, err := c.List(ctx, target.Listing{Resource: nodesResource}, func(o *target.Object) error {
		all.add(o)
		return nil
	}); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all, n.when = all, time.Now()
	return nil
}

// add takes over a Node. Its bridge has one of the first two addresses of its Pods.
func (n *network) add(o *target.Object) {
	var spec struct {
		PodCIDR  string
		PodCIDRs []string
	}
	var status struct{ Addresses []struct{ Address string } }
	_, _ = json.Unmarshal(o.Spec, &spec), json.Unmarshal(o.Status, &status) // what is not said is not known
	for _, a := range status.Addresses {
		if at, err := netip.ParseAddr(a.Address); err == nil {
			n.nodes[at.Unmap()] = o.Metadata.Name
		}
	}
	for _, text := range append(spec.PodCIDRs, spec.PodCIDR) {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			continue
		}
		first := p.Masked().Addr()
		n.pods = append(n.pods, p)
		n.nodes[first], n.nodes[first.Next()] = o.Metadata.Name, o.Metadata.Name
	}
}

// nodeOf is the name of the node that an address of this site is at: the node's own, or one of its Pods'. It is empty
// where that is not known.
func (n *nodes) nodeOf(ctx context.Context, c *target.Client, at netip.Addr) (name string, err error) {
	if all := n.now(); all != nil && all.nodes[at] != "" {
		return all.nodes[at], nil
	}
	_, err = c.List(ctx, podsAt(at), func(o *target.Object) error {
		var spec struct{ NodeName string }
		if addressOf(o) != "" && json.Unmarshal(o.Spec, &spec) == nil {
			name = spec.NodeName
		}
		return nil
	})
	return name, err
}

// podsAt lists the Pods that have an address.
func podsAt(at netip.Addr) target.Listing {
	return target.Listing{Resource: pods, FieldSelector: "status.podIP=" + at.String()}
}

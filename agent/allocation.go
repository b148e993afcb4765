package agent

import (
	"context"
	"math"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel"
)

// allocation adds what pods request to the facts. A relay adds up its own targets. Where the agent
// may not read nodes, ResourceQuotas say what there is.
func (a *agent) allocation(ctx context.Context, client *target.Client, facts *tunnel.ClusterFacts) error {
	all, placed := amounts{}, amounts{}
	if a.Config.Relay {
		err := client.Children(ctx, func(c *target.Child) {
			if c.Connected() {
				all.add(c.Status.Allocated)
				placed.add(c.Status.AllocatedPlaced)
			}
		})
		facts.Allocated, facts.Placed = all.texts(), placed.texts()
		return err
	}
	err := client.Pods(ctx, func(p *target.Pod) {
		if p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" {
			return
		}
		requests := podRequests(p)
		all.sum(requests)
		if a.observer.Owns(p.Metadata.UID) {
			placed.sum(requests)
		}
	})
	switch {
	case target.NotReadable(err):
		facts.Unread = append(facts.Unread, tunnel.UnreadPods)
	case err != nil:
		return err
	default:
		facts.Allocated, facts.Placed = all.texts(), placed.texts()
	}
	if facts.Nodes == 0 && len(facts.Unread) > 0 {
		return a.quotas(ctx, client, facts)
	}
	return nil
}

// quotas takes what ResourceQuotas of the namespaces of spaces limit for what the cluster has.
func (a *agent) quotas(ctx context.Context, client *target.Client, facts *tunnel.ClusterFacts) error {
	usable := a.usableNamespaces()
	hard, used := amounts{}, amounts{}
	err := client.Quotas(ctx, func(q *target.Quota) {
		if usable(q.Metadata.Namespace) {
			hard.add(requested(q.Status.Hard))
			used.add(requested(q.Status.Used))
		}
	})
	if err != nil {
		if target.NotReadable(err) {
			return nil
		}
		return err
	}
	if len(hard) > 0 {
		facts.Quota, facts.Capacity, facts.Allocatable = true, hard.texts(), hard.texts()
		if facts.Allocated == nil {
			facts.Allocated = used.texts()
		}
	}
	return nil
}

// usableNamespaces reports of a namespace of the cluster whether spaces have it, or may have it by
// the site's own configuration.
func (a *agent) usableNamespaces() func(string) bool {
	there := map[string]bool{}
	for _, name := range a.inventory.NamespacesThere() {
		there[name] = true
	}
	return func(name string) bool { return there[name] || a.permission.Policy().Opens(name) }
}

// worthTelling reports whether the parent should be told facts, where it was told before since ago.
func worthTelling(before, now *tunnel.ClusterFacts, since time.Duration) bool {
	switch {
	case before == nil:
		return true
	case before.Equal(now):
		return false
	case since >= allocatedAfter:
		return true
	}
	rest, same := *now, *before
	rest.Allocated, rest.Placed, same.Allocated, same.Placed = nil, nil, nil, nil
	return !rest.Equal(&same) || stepped(before.Allocated, now.Allocated, now.Allocatable) ||
		stepped(before.Placed, now.Placed, now.Allocatable)
}

// stepped reports whether a resource has changed by more than allocatedStep of what is allocatable of
// it; of what it was where that is not known.
func stepped(before, now, allocatable map[string]string) bool {
	was, is, whole := amountsOf(before), amountsOf(now), amountsOf(allocatable)
	for name := range union(was, is) {
		a, b, of := was[name], is[name], whole[name]
		if of.IsZero() {
			of = a
		}
		if math.Abs(b.AsApproximateFloat64()-a.AsApproximateFloat64()) > allocatedStep*of.AsApproximateFloat64() {
			return true
		}
	}
	return false
}

// Package target reaches the API that an agent writes to: a workload cluster, or in a relay the
// spaces of its own center.
//
// Its nouns are [Access], which leads to a target; [Client], which speaks to one view of it; and
// [Object], what an answer says. Requests and answers are JSON over HTTP: server-side apply, get,
// delete with preconditions, paged list, watch.
//
//	clients := target.NewClients(target.Cluster(config))
//	c, err := clients.For(space)  // at a cluster the same client for every space
//	live, changed, err := c.Apply(ctx, resource, namespace, name, body, target.Applying{UID: uid})
//
// It knows nothing of desired state or reports. It confines client-go: no client-go type but
// rest.Config leaves it. It has no informer, no scheme and no client-side rate limit, because the
// agent must stay small and quick.
//
// Lock order: Clients.mu, then talking.mu.
package target

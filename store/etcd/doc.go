// Package etcd is an etcd cluster as the datastore that several replicas of a center share.
//
//	c, err := etcd.Open(ctx, etcd.Config{Endpoint: "https://h1:2379,https://h2:2379", Log: log})
//	defer c.Close()
//	resp, err := c.Client().OptimisticPut(ctx, key, value, 0, kubernetes.PutOptions{})
//
// The API server speaks etcd's protocol anyway, so requests go to the cluster as they are. All keys
// are below one prefix, which Client adds and removes, so that a cluster may serve others, too.
// What Skerry needs besides:
//
//   - Revisions are compacted, by one replica at a time, as they grow old.
//   - The eras of leaders, and what replicas share, are keys beside those of objects.
//   - A restored center goes on with later revisions than it has ever shown, though a cluster's own
//     cannot be set: so many are added to all of them (shifted).
//   - Watches end at a member that has lost its quorum, and go on at another one.
//   - An etcd whose progress of watches cannot be trusted is refused (Oldest).
package etcd

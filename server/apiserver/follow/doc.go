// Package follow gives a Handler the keys of the store below a prefix: Reset with all of them at
// one revision, then Change for every later write in order.
//
//	err := follow.Prefix(ctx, client, registrykey.SpacePrefix, handler) // until ctx ends
//	rev, all, err := follow.List(ctx, client, prefix)                   // once, in pages
//
// A watch that the store drops continues where it ended. After a loss of history Reset comes again.
package follow

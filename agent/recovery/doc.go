// Package recovery finds this site's objects on its target when the agent's own file may not know
// them. That is so after the loss of the file, an unclean end, or a restore of the target.
//
// Its nouns are the sites, which are values of the label skerry.dev/site, and what is found: a key
// and an inventory.Record without a hash.
//
//	err := recovery.Run(ctx, recovery.Config{Clients: clients, Sites: sites, Found: found})
//	// nil: everything was listed; ErrPartial: there may be more
//
// The life of one object:
//
//  1. Every kind that the target serves is listed by label, metadata only, page by page, 16 kinds
//     at a time. The agent puts the label skerry.dev/site=<UID of the SyncTarget> on all that it
//     writes.
//  2. The object counts if it also has an origin and our field manager. A copy that a user made has
//     no fields of that manager.
//  3. Found puts it into the inventory and, without a value, into the desired copy.
//  4. The next comparison asks the parent. The parent alone decides what is removed.
//
// It only reads, and it decides nothing.
package recovery

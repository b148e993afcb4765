// Package inventory records what an agent has written to its target. It has a [Record] for each
// desired key: the UID of the object there, the applied hash, and a hash of our fields.
//
// An [Inventory] answers from memory and writes behind, so that an apply never waits for a disk and
// an idle agent never syncs one.
//
//	inv, err := inventory.Open(file.Inventory(), log)
//	go inv.Run(ctx)                // writes behind, and what is left when ctx ends
//	inv.Put(key, record)           // memory only
//	key, ok := inv.ByUID(uid)      // whose object is this?
//
// The life of a record:
//
//  1. Put or Update changes it in memory.
//  2. It is written with the next other change of the file, such as a commit of the desired copy.
//     That costs no transaction of its own.
//  3. Otherwise it is written within 5 s. Records of objects that have finished or gone are written
//     within 250 ms, because the target will not tell that again.
//
// A record that a crash loses costs one read of the target at the next start. It never costs a
// second write, because the object there carries the origin's UID.
//
// Lock order: Inventory.writing, then Inventory.mu.
package inventory

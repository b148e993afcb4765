// Package apply makes the target hold what the durable desired copy says: server-side apply of every live entry, deletion
// of what a tombstone names, nothing else. A keyed queue drives eight workers; kinds go in the order CustomResourceDefinition,
// Namespace, everything else, and deletions last in the reverse order. What the inventory says is already applied is not
// written again; an object that is not ours is reported and left alone. It never talks to the parent: it starts from the
// bbolt file, and a link that is down changes nothing for it. It does not watch the target; observe does, and tells it by
// Applier.Seen what it sees and by Applier.Vanished what went. It is imported by agent.go alone.
package apply

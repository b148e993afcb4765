// Package observe keeps the reported feed: what became of each placed object on the target, the Pods that belong to it, and what the target warns of.
// It lists and watches each resource that the inventory has objects of, Events, and Pods, ReplicaSets and Jobs when something
// placed can own them; an event becomes a change of the feed at once. It is no cache of the target: of objects that are ours it
// keeps a compressed status, of others at most who owns them. After a restart the feed is complete, and may be compared with
// the parent's copy, when Observer.Ready is closed. It never writes to the target. It is imported by agent.go alone.
package observe

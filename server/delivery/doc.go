// Package delivery turns the center's data into one desired feed per target. It keeps a catalog of all placed objects (keys, hashes and
// where they are, never bodies) that every write to the center's store passes through, and the decision writer: when spaces,
// targets, placements, labels or reports change, it asks package placement for the next step of each group that is touched and
// records it with one write. Records are the truth (annotation skerry.dev/targets of a Namespace, of an object with a wish of its
// own, of a cluster-scoped object; status.decision of a Placement): the feeds follow from them alone, so a center that restarts in
// the middle of a move goes on. On everything else the annotation is a note, written when there is time; who gets or gives back a wish of
// its own is marked (skerry.dev/undecided) until its annotation is right. Bodies are rendered when they are sent.
// It knows no Kubernetes client: server.go gives it an API. Only server.go imports it.
package delivery

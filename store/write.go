package store

// Write is one write to a center's data as its own controllers see it: any kind, any space, in the
// order of revisions.
type Write struct {
	Key Key
	// APIVersion and Kind of Object, "apps/v1" and "Deployment".
	APIVersion, Kind string
	// Revision of the store; greater than that of every Write before it, except within a snapshot.
	Revision int64
	// Size is how many bytes are stored of it, with its key; 0 when it is not known.
	Size int
	// Object is the object as decoded JSON, without metadata.managedFields. It is nil when the
	// object was deleted. It is shared: never change it.
	Object map[string]any
}

package inventory

// Sight is what a watch saw of an object in the inventory.
type Sight struct {
	UID string
	// Revision is the object's resourceVersion.
	Revision uint64
	// Owned is a hash of the fields that are ours, as Record has it.
	Owned uint64
	// Content is a hash of everything but status, and who wrote it.
	Content uint64
	// Finished is true for a Job or Pod that has run to its end.
	Finished bool
}

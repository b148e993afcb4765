package store

// Removal is what becomes of an object on the target when its key is taken away. It crosses the
// wire in two bits.
type Removal uint8

// How a tombstone removes.
const (
	// RemoveDelete deletes the object; what it owns follows. What must not run twice goes last.
	RemoveDelete Removal = iota
	// RemoveOrphan leaves the object, and removes the labels, the annotations and the field ownership
	// of Skerry.
	RemoveOrphan
	// RemoveKeepDependents deletes the object and leaves what it owns: `kubectl delete
	// --cascade=orphan`.
	RemoveKeepDependents
	// RemoveByPolicy leaves it to the object's own sync policy (whenPlacementDeleted), because the
	// sender does not know any more why the key is gone: it found by comparing that a receiver has
	// what it has not.
	RemoveByPolicy
)

// MaxRemoval is the greatest Removal.
const MaxRemoval = RemoveByPolicy

// String returns the name without its prefix.
func (r Removal) String() string {
	switch r {
	case RemoveDelete:
		return "Delete"
	case RemoveOrphan:
		return "Orphan"
	case RemoveKeepDependents:
		return "KeepDependents"
	case RemoveByPolicy:
		return "ByPolicy"
	default:
		return "unknown"
	}
}

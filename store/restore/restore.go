package restore

import (
	"context"
	"errors"
	"fmt"

	"skerry.dev/skerry/store"
)

// Key is a key as the newest write has left it.
type Key struct {
	Name  string
	Value []byte
	// Revision is that of the newest write, Created that of the first one.
	Revision, Created int64
	// Lease is after how many seconds the key ends; 0 is never.
	Lease int64
}

// Content is what a copy of a center's data holds.
type Content interface {
	Incarnation() store.Incarnation
	// Revision is that of the newest write, also of one that has deleted a key.
	Revision() int64
	Eras() store.Eras
	// Len is how many keys there are.
	Len() int
	// Each calls do with each key, in the order of their revisions.
	Each(ctx context.Context, do func(Key) error) error
}

// Options of a restore.
type Options struct {
	// Replace removes what the datastore holds of a center.
	Replace bool
	// Shared are values beside the keys, by their names (kine.Store.Keep).
	Shared map[string][]byte
	// Count is told how many keys are written; nil is nobody.
	Count func(done, total int)
}

// There is what a datastore holds.
type There struct {
	// Incarnation is whose data it is; nil is nobody's.
	Incarnation *store.Incarnation
	// Revision is that of the newest write.
	Revision int64
	// Keys is how many there are, or rows that may be several of one key.
	Keys int64
	// Foreign says that something is there that no center has written.
	Foreign bool
	// Unfinished says that a restore has broken off.
	Unfinished bool
}

// Errors of a restore, and of opening a datastore.
var (
	// ErrNotEmpty is returned for a datastore that holds a center, unless Options.Replace is set.
	ErrNotEmpty = errors.New(
		"the datastore is not empty; name another one, or replace what it holds with --replace",
	)
	// ErrForeign is returned for a datastore that another program uses. Nothing replaces that.
	ErrForeign = errors.New("the datastore holds what no center has written; name another one")
	// ErrInUse is returned for a datastore to which a center writes.
	ErrInUse = errors.New("a center writes to the datastore; stop all of its replicas first")
	// ErrUnfinished is returned for a datastore in which a restore has broken off.
	ErrUnfinished = errors.New(
		"the datastore holds a restore that was not finished; restore the backup again: " +
			"skerry center restore --replace",
	)
	// ErrOvertaken is returned when another restore into the datastore has begun.
	ErrOvertaken = errors.New(
		"another restore writes to the datastore, or a center does; let one of them end",
	)
)

// Allows returns why a restore may not begin, nil if it may.
func (t There) Allows(replace bool) error {
	switch {
	case t.foreign():
		return ErrForeign
	case t.Unfinished && replace:
		return nil
	case t.Unfinished:
		return ErrUnfinished
	case t.Incarnation != nil && !replace:
		return fmt.Errorf("%w (%s)", ErrNotEmpty, t)
	}
	return nil
}

func (t There) foreign() bool {
	return t.Foreign || t.Incarnation == nil && t.Keys > 0 && !t.Unfinished
}

// String is There for an admin.
func (t There) String() string {
	switch {
	case t.foreign():
		return "what no center has written"
	case t.Unfinished:
		return "a restore that was not finished"
	case t.Incarnation != nil:
		return fmt.Sprintf("center %s up to revision %d", t.Incarnation, t.Revision)
	}
	return "nothing"
}

// Eras are those of a restored datastore: what the copy knows, and one that begins where it ends.
func Eras(c Content) store.Eras {
	known := c.Eras()
	return append(
		known[:len(known):len(known)],
		store.EraStart{Era: store.NewEra(), From: c.Revision()},
	)
}

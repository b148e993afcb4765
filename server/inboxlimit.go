package server

import (
	"context"
	"errors"
	"fmt"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
)

// What a target may have reported at a time. An honest one stays far below: of each object that is placed on it there are its Pods, what owns them, and a few
// Events. One that does not must not fill the disk and the memory of all others.
const (
	mostReports          = 20_000
	mostReportsPerObject = 200
)

// errTooManyReports ends the session of a target that reports more than it may.
var errTooManyReports = errors.New("it reports more objects than one site may; look there for what makes them")

// inbox holds the reports of one target.
type inbox struct {
	*bolt.Sink
	target string
	placed func(target string) int
}

// Commit implements store.Sink.
func (b *inbox) Commit(ctx context.Context, batch store.Batch) error {
	if most := mostReports + mostReportsPerObject*b.placed(b.target); b.Len()+len(batch.Entries) > most {
		n, err := b.after(batch)
		if err != nil {
			return err
		}
		if n > most && n > b.Len() {
			return fmt.Errorf("%w: %d, of which %d are taken from %s", errTooManyReports, n, most, b.target)
		}
	}
	return b.Sink.Commit(ctx, batch)
}

// after is how many reports there are with a batch.
func (b *inbox) after(batch store.Batch) (n int, err error) {
	is := map[store.Key]bool{}
	n = b.Len()
	for _, e := range batch.Entries {
		was, known := is[e.Key]
		if !known {
			old, ok, err := b.Get(e.Key)
			if err != nil {
				return 0, fmt.Errorf("count the reports of %s: %w", b.target, err)
			}
			was = ok && !old.Tombstone
		}
		switch is[e.Key] = !e.Tombstone; {
		case was && e.Tombstone:
			n--
		case !was && !e.Tombstone:
			n++
		}
	}
	return n, nil
}

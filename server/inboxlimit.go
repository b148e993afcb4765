package server

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
)

// What a target may have reported at a time. An honest one stays far below: of each object that is placed on it there are its Pods, what owns them, and a few
// Events. One that does not must not fill the disk and the memory of all others.
const (
	mostReports          = 20_000
	mostReportsPerObject = 200
	// What their values may take, compressed as they are stored. What does not fit is not kept, and all else goes on.
	mostReportBytes          = 64 << 20
	mostReportBytesPerObject = 128 << 10
)

// errTooManyReports ends the session of a target that reports more than it may.
var errTooManyReports = errors.New("it reports more objects than one site may; look there for what makes them")

// errRoomAgain ends the session of a target whose reports were not all kept: in the next one the copy is compared, and what is missing comes.
var errRoomAgain = errors.New("there is room again for reports that were not kept; the session begins anew to get them")

// inbox holds the reports of one target.
type inbox struct {
	*bolt.Sink
	target  string
	placed  func(target string) int
	crowded func(target string)
	room    atomic.Int64
	wanted  bool // what is not kept was asked for; of whoever commits
}

// valueless is an inbox that does not have the value of each report: nothing can be sent as a change of what is there.
type valueless struct{ store.Sink }

// sink is what a session stores reports in.
func (b *inbox) sink() store.Sink {
	if b.Unkept() > 0 {
		return valueless{b}
	}
	return b
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
	room, unkept := mostReportBytes+int64(b.placed(b.target))*mostReportBytesPerObject, b.Unkept()
	b.room.Store(room)
	if err := b.Sink.Commit(ctx, batch); err != nil {
		return err
	}
	if b.crowded != nil && (unkept > 0) != (b.Unkept() > 0) {
		b.crowded(b.target)
	}
	return b.makeRoom(room, unkept)
}

// makeRoom asks for what was not kept, when a quarter of the room is free: so much that what comes does not fill it at once. before is how much was not
// kept before the last commit.
func (b *inbox) makeRoom(room int64, before int) error {
	switch unkept := b.Unkept(); {
	case unkept == 0, unkept > before:
		b.wanted = false
		return nil
	case b.wanted, b.Size() > room/4*3:
		return nil
	}
	if err := b.Want(); err != nil {
		return fmt.Errorf("ask for reports of %s that were not kept: %w", b.target, err)
	}
	b.wanted = true
	return errRoomAgain
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

package reports

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync/atomic"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/bolt"
)

// What a target may have reported at a time. An honest one stays far below: of each object that is
// placed on it there are its Pods, what owns them, and a few Events. One that does not must not
// fill the disk and the memory of all others.
const (
	mostReports          = 20_000
	mostReportsPerObject = 200
	// mostLeftOut is how many reports that were not taken are counted.
	mostLeftOut = 100_000
	// What their values may take, compressed as they are stored. What does not fit is not kept, and
	// all else goes on.
	mostReportBytes          = 64 << 20
	mostReportBytesPerObject = 128 << 10
)

// errRoomAgain ends the session of a target whose reports were not all kept: in the next one the
// copy is compared, and what is missing comes.
var errRoomAgain = errors.New("there is room again for reports that were not kept; the session begins anew to get them")

// inbox holds the reports of one target.
type inbox struct {
	*bolt.Sink
	target  string
	placed  func(target string) int
	crowded func(target string)
	room    atomic.Int64
	leftOut atomic.Int64 // how many are in left

	// Of whoever commits.
	wanted bool // what is not kept was asked for
	// left has hashes of the keys of reports that the inbox refused because it is full.
	left map[uint64]struct{}
	seed maphash.Seed
}

// Unkept is how many reports are not kept: of some the inbox knows no more than that the target has
// them, others it did not take.
func (b *inbox) Unkept() int { return b.Sink.UnknownBodies() + int(b.leftOut.Load()) }

// valueless is an inbox that does not have the value of each report: nothing can be sent as a
// change of what is there.
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
	placed, before, unkept := b.placed(b.target), b.Unkept(), b.Sink.UnknownBodies()
	most := mostReports + mostReportsPerObject*placed
	if err := b.limit(&batch, most); err != nil {
		return err
	}
	room := mostReportBytes + int64(placed)*mostReportBytesPerObject
	b.room.Store(room)
	if err := b.Sink.Commit(ctx, batch); err != nil {
		return err
	}
	again := len(b.left) > 0 && b.Len() <= most/4*3
	if again {
		b.left = map[uint64]struct{}{}
		b.leftOut.Store(0)
	}
	if b.crowded != nil && (before > 0) != (b.Unkept() > 0) {
		b.crowded(b.target)
	}
	if again {
		return errRoomAgain
	}
	return b.makeRoom(room, unkept)
}

// limit leaves out of a batch the reports of further objects for which there is no room. Of those
// that there are all that is told goes on. The copy differs from what the target has then, so each
// session begins with what was left out, and ends that with this.
func (b *inbox) limit(batch *store.Batch, most int) error {
	if b.Len()+len(batch.Entries) <= most && len(b.left) == 0 {
		return nil
	}
	has, goes := map[store.Key]bool{}, map[store.Key]bool{} // before the batch, and with it
	for _, e := range batch.Entries {
		if _, again := goes[e.Key]; !again {
			old, ok, err := b.Get(e.Key)
			if err != nil {
				return fmt.Errorf("count the reports of %s: %w", b.target, err)
			}
			has[e.Key] = ok && !old.Tombstone
		}
		goes[e.Key] = e.Tombstone
	}
	n := b.Len()
	for k, gone := range goes {
		if gone && has[k] {
			n--
		}
	}
	taken := make([]store.Entry, 0, len(batch.Entries))
	for _, e := range batch.Entries {
		switch left := maphash.Comparable(b.seed, e.Key); {
		case has[e.Key]:
			taken = append(taken, e)
		case goes[e.Key]: // it comes and goes, or has gone before it was taken
			delete(b.left, left)
		case n < most:
			n++
			has[e.Key] = true
			delete(b.left, left)
			taken = append(taken, e)
		case len(b.left) < mostLeftOut:
			b.left[left] = struct{}{}
		}
	}
	b.leftOut.Store(int64(len(b.left)))
	batch.Entries = taken
	return nil
}

// makeRoom asks for what was not kept, when a quarter of the room is free: so much that what comes
// does not fill it at once. before is how much was not kept before the last commit.
func (b *inbox) makeRoom(room int64, before int) error {
	switch unkept := b.Sink.UnknownBodies(); {
	case unkept == 0, unkept > before:
		b.wanted = false
		return nil
	case b.wanted, b.Size() > room/4*3:
		return nil
	}
	if err := b.RefetchUnknown(); err != nil {
		return fmt.Errorf("ask for reports of %s that were not kept: %w", b.target, err)
	}
	b.wanted = true
	return errRoomAgain
}

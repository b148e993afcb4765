package apply

import (
	"context"
	"log/slog"
	"time"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/store"
)

// forgetDelay is how long finished deletions are collected for one transaction.
const forgetDelay = 20 * time.Millisecond

// finished are the tombstones whose deletion is done.
type finished struct {
	tombstones chan store.Entry
	desired    Desired
	inventory  *inventory.Inventory
	log        *slog.Logger
}

func newFinished(d Desired, i *inventory.Inventory, log *slog.Logger) *finished {
	return &finished{make(chan store.Entry, Workers), d, i, log}
}

// add hands over a tombstone. It gives up when ctx ends: the next start finds it again.
func (f *finished) add(ctx context.Context, tombstone store.Entry) {
	select {
	case f.tombstones <- tombstone:
	case <-ctx.Done():
	}
}

// forget drops the tombstones whose deletion is done, many in one transaction, after the inventory
// is durable. A crash in between leaves a tombstone that finds nothing to delete.
func (f *finished) forget(ctx context.Context) {
	var done []store.Entry
	for {
		select {
		case <-ctx.Done():
			f.forgetAll(append(done, f.drain()...))
			return
		case e := <-f.tombstones:
			done = append(done, e)
		}
		timer := time.NewTimer(forgetDelay)
	collect:
		for {
			select {
			case e := <-f.tombstones:
				done = append(done, e)
			case <-timer.C:
				break collect
			}
		}
		if f.forgetAll(done) {
			done = done[:0]
		}
	}
}

func (f *finished) drain() (rest []store.Entry) {
	for {
		select {
		case e := <-f.tombstones:
			rest = append(rest, e)
		default:
			return rest
		}
	}
}

func (f *finished) forgetAll(done []store.Entry) bool {
	if len(done) == 0 {
		return true
	}
	// gofail: var beforeForget struct{}
	err := f.inventory.Flush()
	if err == nil {
		// gofail: var inventoryBeforeForget struct{}
		err = f.desired.Forget(done...)
	}
	if err != nil {
		f.log.Error("finished deletions not recorded, they will be looked at again", "n", len(done), "err", err)
	}
	return err == nil
}

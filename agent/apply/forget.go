package apply

import (
	"context"
	"time"

	"skerry.dev/skerry/store"
)

// forgetDelay is how long finished deletions are collected for one transaction.
const forgetDelay = 20 * time.Millisecond

// forget drops the tombstones whose deletion is done, many in one transaction, after the inventory
// is durable. A crash in between leaves a tombstone that finds nothing to delete.
func (a *Applier) forget(ctx context.Context) {
	var done []store.Entry
	for {
		select {
		case <-ctx.Done():
			a.forgetAll(append(done, a.drain()...))
			return
		case e := <-a.finished:
			done = append(done, e)
		}
		timer := time.NewTimer(forgetDelay)
	collect:
		for {
			select {
			case e := <-a.finished:
				done = append(done, e)
			case <-timer.C:
				break collect
			}
		}
		if a.forgetAll(done) {
			done = done[:0]
		}
	}
}

func (a *Applier) drain() (rest []store.Entry) {
	for {
		select {
		case e := <-a.finished:
			rest = append(rest, e)
		default:
			return rest
		}
	}
}

func (a *Applier) forgetAll(done []store.Entry) bool {
	if len(done) == 0 {
		return true
	}
	// gofail: var beforeForget struct{}
	err := a.Inventory.Flush()
	if err == nil {
		// gofail: var inventoryBeforeForget struct{}
		err = a.Desired.Forget(done...)
	}
	if err != nil {
		a.Log.Error("finished deletions not recorded, they will be looked at again", "n", len(done), "err", err)
	}
	return err == nil
}

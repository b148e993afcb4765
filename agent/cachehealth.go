package agent

import (
	"fmt"
	"path/filepath"
	"sync"

	"skerry.dev/skerry/store/bolt"
	"skerry.dev/skerry/tunnel"
)

// reasonDiskRefuses is the reason of StoreHealthy=False while the disk takes no writes.
const reasonDiskRefuses = "DiskRefuses"

// cacheHealth says the condition StoreHealthy: a disk that takes no writes goes before a file that
// is being filled again.
type cacheHealth struct {
	conditions *tunnel.Conditions

	mu     sync.Mutex
	broken error
	refill string
}

// diskTakes tells the parent and the log that the disk takes no writes, or with nil that it does
// again.
func (a *agent) diskTakes(err error) {
	if err != nil {
		a.Log.Error(
			"the disk takes no writes; what is known goes on being enforced, nothing new is acknowledged",
			"err",
			err,
		)
	} else {
		a.Log.Info("the disk takes writes again")
	}
	a.cache.health.disk(err)
}

// disk records that the disk accepts no writes, or with nil that it does again.
func (h *cacheHealth) disk(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken = err
	h.publishLocked()
}

// refilling records that the file was lost.
func (h *cacheHealth) refilling(r bolt.Rebuilt) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refill = "the store was lost; it is filled again from the target and the parent, and until " +
		"then nothing on the target is touched"
	if r.Aside != "" {
		h.refill = fmt.Sprintf(
			"the store was corrupt; it is kept as %s, %d objects were saved, the rest is filled "+
				"again from the target and the parent, and until then not touched",
			filepath.Base(r.Aside),
			r.Kept,
		)
	}
	h.publishLocked()
}

// refilled records that the file is complete again.
func (h *cacheHealth) refilled() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refill = ""
	h.publishLocked()
}

func (h *cacheHealth) publishLocked() {
	c := tunnel.Condition{
		Type:    tunnel.StoreHealthy,
		Status:  tunnel.True,
		Reason:  "Written",
		Message: "the site keeps what it knows",
	}
	switch {
	case h.broken != nil:
		c.Status, c.Reason = tunnel.False, reasonDiskRefuses
		c.Message = "what is known goes on being enforced, nothing new is acknowledged: " + h.broken.Error()
	case h.refill != "":
		c.Status, c.Reason, c.Message = tunnel.False, "Refilling", h.refill
	}
	h.conditions.Set(c)
}

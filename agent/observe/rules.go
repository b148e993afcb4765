package observe

import (
	"time"

	"skerry.dev/skerry/agent/variants"
	"skerry.dev/skerry/store"
)

// Ruled reports on a Customizer, which is on no target: what the objects here have become by it.
// Nil takes the report back.
func (o *Observer) Ruled(k store.Key, r *variants.Report) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r == nil {
		o.dropLocked(k)
		return
	}
	rec := o.recordLocked(k)
	rec.originUID, rec.generation, rec.hash, rec.failure = r.UID, r.Generation, r.Applied, failureOf(r.Invalid)
	rec.at = time.Now().UnixMilli()
	rec.status = o.codec.Encode(nil, r.Status)
	o.publishLocked(k)
}

package catalog

import (
	"sync"
	"time"

	"skerry.dev/skerry/server/placement"
)

// Outages are the targets whose reports are old. Package sessions judges them; whoever shows what was
// reported asks. It has a lock of its own, which is never held while anybody else is called.
type Outages struct {
	mu sync.Mutex
	of map[string]placement.Outage
}

// NewOutages returns Outages in which the reports of all targets are current.
func NewOutages() *Outages { return &Outages{of: map[string]placement.Outage{}} }

// Outage returns why the reports of a target are old; it is false while they are current.
func (o *Outages) Outage(target string) (placement.Outage, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	is, out := o.of[target]
	return is, out
}

// Set takes over whether a target has an outage, and reports whether that is news. An outage that
// goes on keeps its beginning, and its words while the reason is the same: what follows from it is
// not written again.
func (o *Outages) Set(target string, is placement.Outage, out bool) (news bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before, was := o.of[target]
	switch {
	case !out:
		delete(o.of, target)
		return was
	case was && before.Reason == is.Reason:
		return false
	case was && before.Since.Before(is.Since):
		is.Since = before.Since
	}
	is.Since = is.Since.Truncate(time.Second)
	o.of[target] = is
	return true
}

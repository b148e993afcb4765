package delivery

import (
	"context"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// tellOf says on an object what the center has found out about it.
func (d *Delivery) tellOf(ctx context.Context, k store.Key) error {
	d.catalog.Lock()
	o := d.catalog.Find(k)
	n, noted := d.catalog.PlaceNotes[o]
	if !noted || n.Told {
		d.catalog.Unlock()
		return d.writePodAPI(ctx, k)
	}
	text := n.Text
	if n.Told = true; text == "" {
		delete(d.catalog.PlaceNotes, o)
	} else {
		d.catalog.PlaceNotes[o] = n
	}
	e := placement.Event{Key: k, APIVersion: o.Kind.ApiVersion, Kind: o.Kind.Name, UID: o.UID,
		Warning: true, Reason: n.Reason, Message: text}
	d.catalog.Unlock()
	c := placement.Condition{
		Type:   v1alpha1.ConditionObjectScheduled,
		Status: true,
		Reason: "Decided",
	}
	if text != "" {
		c.Status, c.Reason, c.Message = false, n.Reason, text
		d.cfg.Event(e)
	}
	d.cfg.Condition(k, c)
	return d.writePodAPI(ctx, k)
}

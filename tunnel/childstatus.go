package tunnel

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"skerry.dev/skerry/tunnel/ondemand"
	"skerry.dev/skerry/tunnel/wire"
)

// A child sends its ChildStatus when it is welcomed, and then what changes of it, as a JSON merge patch (RFC 7396): a
// few numbers change of it, a dozen times an hour, and the whole has more bytes than the heartbeats of that hour.

// sendConditions sends the child's status and its changes. Several things change together at the beginning of a
// session, when the parent is found to be followed and the clock to be right.
func (c *child) sendConditions(ctx context.Context) error {
	select {
	case <-c.linked:
	case <-ctx.Done():
		return nil
	}
	var offer *ClusterOffer // as it was sent; it is much longer than all the rest, and seldom changes
	var sent map[string]any // the rest as it was sent
	for {
		if !ondemand.Pause(ctx, tellPause) {
			return nil
		}
		said, changed := c.Conditions.All()
		now := said.Offer
		if now == offer {
			said.Offer = nil
		}
		var err error
		if sent, err = c.sendStatus(sent, said); err != nil {
			return err
		}
		offer = now
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// sendStatus sends what differs from what was sent, all where the parent does not take changes. It returns what is sent
// now, without the offer. A change is one of what a parent keeps of a status, which has bounds.
func (c *child) sendStatus(sent map[string]any, said ChildStatus) (map[string]any, error) {
	kept, _ := said.bounded()
	all, err := fieldsOf(kept)
	if err != nil {
		return nil, err
	}
	if sent == nil || !c.saysChanges {
		err = c.control.send(typeConditions, said)
	} else if change := difference(sent, all); len(change) > 0 {
		err = c.control.send(typeChanges, change)
	}
	delete(all, "offer")
	return all, err
}

// statusSaid takes a status, or a change of it.
func (p *parent) statusSaid(t wire.Type, payload []byte) (err error) {
	var said ChildStatus
	if t == typeChanges {
		said, err = p.said.changed(payload)
	} else {
		said, err = decode[ChildStatus](payload)
	}
	if err != nil {
		return err
	}
	said, dropped := said.bounded()
	p.said = said
	p.said.Offer = nil
	if p.Listener != nil {
		p.Listener.Status(said, dropped)
	}
	return nil
}

// changed returns s after a change. Its error wraps ErrProtocol.
func (s ChildStatus) changed(payload []byte) (ChildStatus, error) {
	change, err := decode[map[string]any](payload)
	if err != nil {
		return ChildStatus{}, err
	}
	have, err := fieldsOf(s)
	if err != nil {
		return ChildStatus{}, err
	}
	merge(have, change)
	text, err := json.Marshal(have)
	if err != nil {
		return ChildStatus{}, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return decode[ChildStatus](text)
}

// fieldsOf returns what a status is as JSON.
func fieldsOf(s ChildStatus) (map[string]any, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode a status: %w", err)
	}
	return decode[map[string]any](text)
}

// difference returns the merge patch that makes after of before.
func difference(before, after map[string]any) map[string]any {
	patch := map[string]any{}
	for name := range before {
		if _, there := after[name]; !there {
			patch[name] = nil
		}
	}
	for name, now := range after {
		was, there := before[name]
		if there && reflect.DeepEqual(was, now) {
			continue
		}
		wasFields, whole := was.(map[string]any)
		nowFields, fields := now.(map[string]any)
		if whole && fields {
			now = difference(wasFields, nowFields)
		}
		patch[name] = now
	}
	return patch
}

// merge carries a merge patch out.
func merge(have, patch map[string]any) {
	for name, p := range patch {
		fields, nested := p.(map[string]any)
		switch {
		case p == nil:
			delete(have, name)
		case nested:
			below, _ := have[name].(map[string]any)
			if below == nil {
				below = map[string]any{}
			}
			merge(below, fields)
			have[name] = below
		default:
			have[name] = p
		}
	}
}

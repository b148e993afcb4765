package delta

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/traffic"
	"skerry.dev/skerry/tunnel/wire"
)

// Held is how a receiver that holds differs from the feed.
type Held struct {
	// Why is the receiver's reason.
	Why string
	// At is the position of the receiver's copy, Head that of the feed.
	At, Head store.Position
	// Objects is how many objects the receiver has.
	Objects int
	// Delete, Change and Add count what following the feed would do to them.
	Delete, Change, Add int
	// First are the first keys that would be deleted, at most HeldKeys. Deletions is a digest of
	// all of them.
	First     []store.Key
	Deletions store.Digest
}

// HeldKeys is how many keys Held names at most.
const HeldKeys = 10

const (
	// maxWhy bounds a receiver's reason, in bytes.
	maxWhy = 1 << 10
	// heldPause is the least time between two comparisons with a receiver that holds.
	heldPause = 30 * time.Second
)

// admit returns an error unless the sender is the one that the copy came from. A sender with other
// data that wants exactly what is here is followed, too: nothing can be lost.
func (r *receiver) admit(m wire.Start) error {
	err := r.sink.Admit(m.Head)
	at := r.sink.Position()
	if err == nil && at.Incarnation == m.Head.Incarnation && at.Revision > m.Shared {
		err = fmt.Errorf(
			"%w: it is at revision %d and does not know how this copy got to %d",
			store.ErrRegressed,
			m.Head.Revision,
			at.Revision,
		)
	}
	if !errors.Is(err, store.ErrRegressed) || m.Root != r.sink.Root() {
		return err
	}
	r.log.Info("the sender's data is another, but it wants what is here: it is followed",
		"was", at.String(), "is", m.Head.String())
	return r.sink.Accept(m.Head)
}

// hold tells the sender why it is not followed. It then answers how the copy differs, as often as
// the sender begins anew. It discards what the sender sent before it knew.
func (r *receiver) hold(why error) error {
	if r.onHold != nil {
		r.onHold(why)
	}
	text := why.Error()
	if err := r.counter.write(r.stream, wire.TypeHold, []byte(text[:min(len(text), maxWhy)])); err != nil {
		return errors.Join(why, err)
	}
	for begun := false; ; {
		t, payload, err := wire.ReadFrame(r.in, wire.MaxFrame)
		r.counter.position(traffic.Received, payload)
		switch {
		case err != nil:
		case t == wire.TypeStart:
			begun = true
			var m wire.Start
			if m, err = wire.DecodeStart(payload); err == nil && r.admit(m) == nil {
				return ErrReleased
			}
		case t == wire.TypeAsk && begun:
			err = r.answer(payload)
		}
		if err != nil {
			return errors.Join(why, err)
		}
	}
}

// held is what Send does while the receiver holds: it compares, and compares again when the feed
// has changed.
func (s *sender) held(ctx context.Context, at store.Position, why error) error {
	changed := make(chan struct{}, 1) // one slot: it has changed since it was last looked at
	defer s.feed.Watch(func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	})()
	for {
		select {
		case <-changed:
		default:
		}
		if err := s.restart(ctx, at, why); err != nil {
			return err
		}
		timer := time.NewTimer(heldPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// restart sends Start again, so that the receiver can see whether the two are equal by now. Then it
// asks how the receiver differs.
func (s *sender) restart(ctx context.Context, at store.Position, why error) error {
	head, root, _ := s.feed.Snapshot()
	live := s.feed.All()
	start := wire.Start{Head: head, Root: root, Compare: true, Shared: s.feed.Shared(at)}
	if err := s.counter.write(s.stream, wire.TypeStart, start.Encode()); err != nil {
		return err
	}
	have, err := s.requestDigests(ctx, live, nil)
	if err != nil {
		return fmt.Errorf("ask a receiver that holds how it differs: %w", err)
	}
	if s.onHeld == nil {
		return nil
	}
	h := Held{Why: strings.TrimPrefix(why.Error(), ErrHeld.Error()+": "), At: at, Head: head}
	known := map[store.Key]bool{}
	for k := range have.hashes {
		known[k] = true
	}
	for _, e := range have.differences(s.feed, live, head.Revision) {
		switch {
		case e.Tombstone:
			h.Delete++
			h.Deletions.Add(e.Key, store.Hash{})
			h.First = append(h.First, e.Key)
		case known[e.Key]:
			h.Change++
		default:
			h.Add++
		}
	}
	h.Objects = len(live) + h.Delete - h.Add
	slices.SortFunc(h.First, func(a, b store.Key) int { return strings.Compare(a.Encode(), b.Encode()) })
	h.First = slices.Clip(h.First[:min(len(h.First), HeldKeys)])
	s.onHeld(h)
	return nil
}

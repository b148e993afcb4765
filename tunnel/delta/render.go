package delta

import (
	"context"
	"errors"
	"fmt"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/wire"
)

// render gets the body of an entry, as a patch if the receiver has an earlier one. ok is false if
// there is nothing to send.
func (s *sender) render(ctx context.Context, e store.Entry) (it wire.Item, ok bool, err error) {
	if e.Tombstone {
		e.Intended = e.Intended || s.feed.Intended(e.Key)
		return wire.Item{Entry: e}, true, nil
	}
	if s.shared != nil {
		from := store.Hash{}
		if s.patches {
			from = s.encoder.Base(e.Key)
		}
		if it, ok := s.shared.item(ctx, s.feed, e, from); ok {
			return it, true, nil
		}
	}
	body, generation, err := s.feed.Body(ctx, e.Key)
	switch {
	case ctx.Err() != nil:
		return it, false, ctx.Err()
	case errors.Is(err, store.ErrGone):
		return it, false, nil
	case err == nil && len(body) > store.MaxBodyBytes:
		err = fmt.Errorf("a body of %d bytes, at most %d", len(body), store.MaxBodyBytes)
	}
	if err != nil {
		if s.retryBodies.add(e.Key, time.Now()) {
			s.log.Error("an object cannot be sent for the moment, the others go on without it",
				"key", e.Key.String(), "err", err)
		}
		return it, false, nil
	}
	report := store.HashReport(generation, body) == e.Hash
	e.Body, e.Generation = body, generation
	it = wire.Item{Entry: e, Report: report}
	if base := s.bases.get(e.Key); base != nil && s.encoder.Knows(e.Key) {
		if patch, ok := wire.MakePatch(base, body); ok {
			it.Patch = patch
		}
	}
	return it, true, nil
}

// moved reports whether the rendered body is not the one of the entry, because the object has
// changed since. If the feed's hash is not that of its own body, it logs that once a stream.
func (s *sender) moved(it wire.Item, e store.Entry) bool {
	if e.Tombstone || it.Report || it.Exact || store.HashBody(it.Entry.Generation, it.Entry.Body) == e.Hash {
		return false
	}
	now, ok := s.feed.Get(e.Key)
	if !ok || now.Hash != e.Hash {
		return true
	}
	if !s.warned {
		s.warned = true
		s.log.Debug("the hash in the feed is not that of the body; compares will find it different",
			"key", e.Key.String())
	}
	return false
}

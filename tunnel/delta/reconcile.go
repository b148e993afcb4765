package delta

import (
	"context"
	"fmt"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/compress"
	"skerry.dev/skerry/tunnel/wire"
)

// reconcile finds how the receiver differs from the feed, and puts only that into the backlog. The
// receiver's position stands still until all of it is sent. root is the digest that the receiver
// has said, nil if it must be asked.
func (s *sender) reconcile(ctx context.Context, root *store.Digest) error {
	head, want, cursor := s.feed.Snapshot()
	if was, known := s.recall(root); known {
		cursor = was
	} else if root == nil || *root != want {
		have, live := theirs{}, s.feed.All()
		if root == nil || *root != (store.Digest{}) {
			var err error
			if have, err = s.requestDigests(ctx, live, root); err != nil {
				return fmt.Errorf("compare with the receiver: %w", err)
			}
		}
		s.backlog.add(time.Now(), have.differences(s.feed, live, head.Revision)...)
	}
	s.at.cursor, s.at.reached, s.at.owes = cursor, head, true
	s.read(true) // what has changed since goes along, so that no decision is seen in halves
	return nil
}

// recall finds the step of the feed at which its content was what the receiver has. With it a
// restarted process that has already changed something knows what the receiver lacks.
func (s *sender) recall(root *store.Digest) (store.Cursor, bool) {
	if root == nil {
		return 0, false
	}
	return s.feed.CursorOf(*root)
}

// theirs is what a receiver has in the buckets that differ.
type theirs struct {
	all     bool // false: the receiver is empty
	buckets map[int]bool
	hashes  map[store.Key]store.Hash
}

// differences returns what makes a receiver equal: values that it lacks, and tombstones for keys
// that the feed does not have. The feed's own tombstone says how to remove; without one the
// object's own policy does.
func (t theirs) differences(feed *store.Feed, live []store.Entry, revision int64) []store.Entry {
	var out []store.Entry
	for _, e := range live {
		if t.all && !t.buckets[bucket(e.Key)] {
			continue
		}
		if h, ok := t.hashes[e.Key]; !ok || h != e.Hash {
			out = append(out, e)
		}
		delete(t.hashes, e.Key)
	}
	for k := range t.hashes {
		gone := store.Entry{Key: k, Revision: revision, Tombstone: true, Removal: store.RemoveByPolicy}
		if e, ok := feed.Get(k); ok && e.Tombstone {
			gone.Removal, gone.Intended = e.Removal, e.Intended
		}
		out = append(out, gone)
	}
	return out
}

func bucket(k store.Key) int {
	outer, inner := store.Bucket(k)
	return outer*store.Fanout + inner
}

// sums are the digests of what a feed has.
type sums struct {
	outer [store.Fanout]store.Digest
	inner [wire.MaxBuckets]store.Digest
}

func sumsOf(live []store.Entry) *sums {
	own := &sums{}
	for _, e := range live {
		b := bucket(e.Key)
		own.outer[b/store.Fanout].Add(e.Key, e.Hash)
		own.inner[b].Add(e.Key, e.Hash)
	}
	return own
}

// root returns the digest of all that a receiver has, if it differs from own in nothing but what
// was found.
func (t theirs) root(own *sums) (d store.Digest) {
	for b, sum := range own.inner {
		if !t.buckets[b] {
			d.Merge(sum)
		}
	}
	for k, h := range t.hashes {
		d.Add(k, h)
	}
	return d
}

// requestDigests finds what the receiver has in the buckets that differ. It asks for short digests,
// an eighth of the bytes, if the receiver knows them and has said its root digest. The root digest
// shows afterwards whether two buckets only looked alike. In that case, and for other receivers, it
// asks for whole digests.
func (s *sender) requestDigests(ctx context.Context, live []store.Entry, root *store.Digest) (theirs, error) {
	own := sumsOf(live)
	if root != nil && s.resume.Short {
		if got, err := s.descend(ctx, own, true); err != nil || got.root(own) == *root {
			return got, err
		}
		s.log.Debug("the short digests do not tell how the receiver differs: whole ones are asked for")
	}
	return s.descend(ctx, own, false)
}

// descend goes from the outer digests down to the members of the buckets that differ.
func (s *sender) descend(ctx context.Context, own *sums, short bool) (theirs, error) {
	differ := func(theirs, ours store.Digest) bool {
		if short {
			ours = wire.Short(ours)
		}
		return theirs != ours
	}
	got := theirs{all: true, buckets: map[int]bool{}, hashes: map[store.Key]store.Hash{}}
	digests, err := s.digests(ctx, wire.Ask{Level: wire.LevelOuter, Short: short}, 1)
	if err != nil {
		return got, err
	}
	var outers, inners []int
	for i, d := range digests {
		if differ(d, own.outer[i]) {
			outers = append(outers, i)
		}
	}
	if len(outers) == 0 {
		return got, nil
	}
	if digests, err = s.digests(ctx, wire.Ask{Level: wire.LevelInner, Buckets: outers, Short: short},
		len(outers)); err != nil {
		return got, err
	}
	for i, d := range digests {
		if b := outers[i/store.Fanout]*store.Fanout + i%store.Fanout; differ(d, own.inner[b]) {
			inners = append(inners, b)
			got.buckets[b] = true
		}
	}
	err = s.exchange(ctx, wire.Ask{Level: wire.LevelMembers, Buckets: inners}, func(a wire.Answer) error {
		for _, m := range a.Members {
			if !got.buckets[bucket(m.Key)] {
				return fmt.Errorf("%w: a member of a bucket that was not asked for", wire.ErrMalformed)
			}
			got.hashes[m.Key] = m.Hash
		}
		return nil
	})
	return got, err
}

func (s *sender) digests(ctx context.Context, ask wire.Ask, buckets int) ([]store.Digest, error) {
	var out []store.Digest
	err := s.exchange(ctx, ask, func(a wire.Answer) error {
		if out = append(out, a.Digests...); a.Short != ask.Short {
			return fmt.Errorf("%w: digests of another length than was asked for", wire.ErrMalformed)
		}
		return nil
	})
	if err == nil && len(out) != buckets*store.Fanout {
		err = fmt.Errorf("%w: %d digests for %d buckets", wire.ErrMalformed, len(out), buckets)
	}
	return out, err
}

// exchange sends a digest request and passes on the parts of the response.
func (s *sender) exchange(ctx context.Context, ask wire.Ask, part func(wire.Answer) error) error {
	if err := s.counter.write(s.stream, wire.TypeAsk, ask.Encode()); err != nil {
		return err
	}
	for {
		select {
		case a := <-s.answers:
			if err := part(a); err != nil || !a.More {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func encodeDigestResponse(a wire.Answer) []byte { return compress.Default().Encode(nil, a.Encode()) }

func decodeDigestResponse(payload []byte) (wire.Answer, error) {
	raw, err := compress.Default().Decode(nil, payload, wire.MaxRaw)
	if err != nil {
		return wire.Answer{}, fmt.Errorf("%w: %w", wire.ErrMalformed, err)
	}
	return wire.DecodeAnswer(raw)
}

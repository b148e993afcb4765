package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"skerry.dev/skerry/store"
)

// ErrFenced is returned by Records.Write when this process does not lead: nothing was sent.
var ErrFenced = errors.New("this replica of the center does not lead; the leader will write it")

// ErrChanged is returned by Writer.Write when the record was changed, made or deleted meanwhile.
var ErrChanged = errors.New("the record was changed meanwhile")

// Records is the store of records.
type Records interface {
	// Write stores a value under a key, or deletes what is there when the value is nil, if the key was
	// last written at a revision; 0 means that it does not exist. It returns the revision of the write,
	// and whether it was made. After an error nobody knows.
	Write(ctx context.Context, k store.Key, value []byte, was int64) (revision int64, ok bool, err error)
}

// The pauses between two tries of a write that has no answer.
const (
	firstPause   = 10 * time.Millisecond
	longestPause = 2 * time.Second
)

// Write makes a write certain. One without an answer is sent again until there is one: to read back
// is not enough, since the first may still arrive. As all have the same precondition, only one of
// them can. It returns ErrChanged when the precondition did not hold, also where it was this very
// write that changed the record.
func Write(ctx context.Context, to Records, k store.Key, value []byte, was int64) (revision int64, err error) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		revision, ok, err := to.Write(ctx, k, value, was)
		switch {
		case err == nil && ok:
			return revision, nil
		case err == nil:
			return 0, fmt.Errorf("write %s: %w", k, ErrChanged)
		case errors.Is(err, ErrFenced):
			return 0, fmt.Errorf("write %s: %w", k, err)
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("write %s: %w", k, errors.Join(err, ctx.Err()))
		case <-time.After(pause):
		}
	}
}

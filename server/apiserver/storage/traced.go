package storage

import (
	"context"

	"skerry.dev/skerry/tunnel/tracing"
)

// traced is called before a write. What it returns is called after it, with its revision, 0 if there
// was none: the change of a sampled request is followed to its targets.
func (s *spaceStorage) traced(ctx context.Context, key string) (wrote func(revision int64)) {
	if s.all != nil && s.all.config.Trace != nil && tracing.Followed(ctx) {
		if k, known := s.all.parse(key); known {
			return s.all.config.Trace.Writing(ctx, k)
		}
	}
	return func(int64) {}
}

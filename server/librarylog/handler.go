// Package librarylog is the log of libraries: Kubernetes' own server and kine say more, and louder,
// than concerns an admin. A record of theirs is dropped below a level, and lowered where it is no
// error to anybody but the library.
//
//	librarylog.TakeOver(ctx, handler, slog.LevelWarn)
package librarylog

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
)

// NewHandler returns a Handler that hands to h what libraries say at a level or above it, until run
// ends: what they say of requests that are broken off because the process stops is for debugging.
func NewHandler(run context.Context, h slog.Handler, level slog.Level) slog.Handler {
	return atLeast{h, level, run}
}

// atLeast drops what is below a level.
type atLeast struct {
	slog.Handler
	level slog.Level
	run   context.Context
}

// Enabled implements slog.Handler.
func (h atLeast) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

// Handle implements slog.Handler. Libraries call some things errors that concern no admin.
func (h atLeast) Handle(ctx context.Context, r slog.Record) error {
	if r.Level = min(r.Level, h.worth(r)); !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// worth is the highest level that a library's record deserves. Debug: a client has gone away while
// it was answered, the process stops, a controller has lost a race for an object and tries again, or
// each of many caches says that etcd has no leader, which the datastore has said once.
// Warn: a client has shown wrong credentials; a request was given up by its client or took too long,
// of which a library cannot tell which.
func (h atLeast) worth(r slog.Record) slog.Level {
	level := slog.LevelError
	switch {
	case h.run.Err() != nil, r.Message == "watch chan error: etcdserver: no leader":
		return slog.LevelDebug
	case slices.Contains([]string{"Timeout or abort while handling", "Post-timeout activity",
		"Unable to authenticate the request"}, r.Message):
		level = slog.LevelWarn
	}
	r.Attrs(func(a slog.Attr) bool {
		said := a.Value.String()
		if a.Key == "err" && (said == "http2: stream closed" || said == "client disconnected" ||
			strings.Contains(said, "the object has been modified; please apply your changes to the latest version")) {
			level = slog.LevelDebug
		} else if a.Key == "err" && (strings.HasPrefix(said, "FinishRequest: post-timeout activity") ||
			strings.HasSuffix(said, http.ErrHandlerTimeout.Error())) {
			level = slog.LevelWarn
		}
		return level != slog.LevelDebug
	})
	return level
}

// WithAttrs implements slog.Handler.
func (h atLeast) WithAttrs(attrs []slog.Attr) slog.Handler {
	return atLeast{h.Handler.WithAttrs(attrs), h.level, h.run}
}

// WithGroup implements slog.Handler.
func (h atLeast) WithGroup(name string) slog.Handler {
	return atLeast{h.Handler.WithGroup(name), h.level, h.run}
}

package share

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"k8s.io/apiserver/pkg/endpoints/responsewriter"

	"skerry.dev/skerry/server/apiserver/backlog"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
)

const (
	// WatchBytes bounds the unsent events of a space's watches.
	WatchBytes = 64 << 20
	// StuckAfter ends a watch whose reader has taken nothing for so long although there is
	// something. The buffers of a connection take the first events, so it can be some seconds until
	// nothing is taken.
	StuckAfter = 15 * time.Second
	// writeStep is how much of an event is written at a time: a slow reader takes it, a stuck one
	// does not.
	writeStep = 32 << 10
)

// Watch is a watch that a request from outside has begun.
type Watch struct {
	Books *backlog.Watch
	// Leave gives back the seat of the request. It may be called more than once.
	Leave func()
	// Lists is set before the answer begins if the watch first reads a list from the store. The watch
	// keeps its seat until the first object has come.
	Lists bool
}

type watchingKey struct{}

// WatchOf returns the watch that a context belongs to, nil for one of the center.
func WatchOf(ctx context.Context) *Watch {
	w, _ := ctx.Value(watchingKey{}).(*Watch)
	return w
}

// watch answers a request that begins a watch. It calls leave when the watch has begun.
func (s *Limiter) watch(w http.ResponseWriter, r *http.Request, h http.Handler, leave func()) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	most, limited := s.usage.Watches(request.Space(ctx))
	books, err := s.backlog.Open(request.Space(ctx), most, func(force bool) {
		cancel()
		if force {
			// An answer that cannot be given a deadline waits for nobody either.
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(-time.Second))
		}
	})
	if err != nil {
		why := "space " + request.Space(
			ctx,
		) + " has " + strconv.Itoa(
			most,
		) + " watches open, which is all that it may; end some"
		if limited {
			why += ", or ask an admin of the center for more (spec.quota.watches of its Space)"
		} else {
			why += ", or ask an admin of the center to set spec.quota.watches of its Space"
		}
		response.WriteTooMany(w, response.TooManyRequests(why))
		return
	}
	defer books.Close()
	is := &Watch{Books: books, Leave: leave}
	h.ServeHTTP(
		responsewriter.WrapForHTTP1Or2(steppedWriter{w, is}),
		r.WithContext(context.WithValue(ctx, watchingKey{}, is)),
	)
}

// listTime bounds how long a watch keeps its seat while nothing comes.
const listTime = time.Second

// steppedWriter writes the events of a watch in steps, and notes each that the reader has taken.
type steppedWriter struct {
	http.ResponseWriter
	watch *Watch
}

// WriteHeader implements http.ResponseWriter.
func (w steppedWriter) WriteHeader(code int) {
	if w.watch.Lists {
		time.AfterFunc(listTime, w.watch.Leave)
	} else {
		w.watch.Leave()
	}
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap implements responsewriter.UserProvidedDecorator.
func (w steppedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements http.ResponseWriter.
func (w steppedWriter) Write(p []byte) (int, error) {
	written := 0
	for {
		step := p[written:min(len(p), written+writeStep)]
		n, err := w.ResponseWriter.Write(step)
		written += n
		if err != nil || written == len(p) {
			return written, err
		}
		w.watch.Books.Progress()
	}
}

package apiserver

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
	// defaultWatches is how many watches a space may have open where its quota does not say: an
	// informer of each kind for some dozens of controllers.
	defaultWatches = 1000
	// watchBytes is what the unsent events of a space's watches may take.
	watchBytes = 64 << 20
	// stuckAfter ends a watch whose reader has taken nothing for so long although there is something. The
	// buffers of a connection take the first events, so it can be some seconds until nothing is taken.
	stuckAfter = 15 * time.Second
	// writeStep is how much of an event is written at a time: a slow reader takes it, a stuck one does not.
	writeStep = 32 << 10
)

// watching is a watch that a request from outside has begun.
type watching struct {
	books *backlog.Watch
	// leave gives back the seat of the request. It may be called more than once.
	leave func()
	// lists is set before the answer begins: what is there is read from the store, for which the
	// watch keeps its seat until the first of it has come.
	lists bool
}

type watchingKey struct{}

// watchingOf returns the watch that a context is about, nil for one of the center's own.
func watchingOf(ctx context.Context) *watching {
	w, _ := ctx.Value(watchingKey{}).(*watching)
	return w
}

// watch answers a request that begins a watch. It calls leave when the watch has begun.
func (s *share) watch(w http.ResponseWriter, r *http.Request, h http.Handler, leave func()) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	most, limited := s.usage.watches(request.Space(ctx))
	books, err := s.backlog.Open(request.Space(ctx), most, func(force bool) {
		cancel()
		if force {
			// An answer that cannot be given a deadline waits for nobody either.
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(-time.Second))
		}
	})
	if err != nil {
		why := "space " + request.Space(ctx) + " has " + strconv.Itoa(most) + " watches open, which is all that it may; end some"
		if limited {
			why += ", or ask an admin of the center for more (spec.quota.watches of its Space)"
		} else {
			why += ", or ask an admin of the center to set spec.quota.watches of its Space"
		}
		response.WriteTooMany(w, response.TooManyRequests(why))
		return
	}
	defer books.Close()
	is := &watching{books: books, leave: leave}
	h.ServeHTTP(responsewriter.WrapForHTTP1Or2(steppedWriter{w, is}), r.WithContext(context.WithValue(ctx, watchingKey{}, is)))
}

// listTime is how long a watch keeps its seat when nothing comes.
const listTime = time.Second

// steppedWriter writes the events of a watch in steps, and notes each that the reader has taken.
type steppedWriter struct {
	http.ResponseWriter
	watch *watching
}

// WriteHeader implements http.ResponseWriter.
func (w steppedWriter) WriteHeader(code int) {
	if w.watch.lists {
		time.AfterFunc(listTime, w.watch.leave)
	} else {
		w.watch.leave()
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
		w.watch.books.Progress()
	}
}

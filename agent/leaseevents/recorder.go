package leaseevents

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/ondemand"
)

// Bounds of what is recorded of one end of a lease.
const (
	MaxObjects    = 500
	MaxNamespaces = 100
	// RepeatEvery is how often an Event is written again: a few times in the hour for which an API
	// server keeps it by default.
	RepeatEvery = 20 * time.Minute
)

const (
	// pause is the least time between two Events, and again that after a failure that may pass.
	pause = 50 * time.Millisecond
	again = 5 * time.Second
	// maxQueued bounds the Events that wait to be written.
	maxQueued = 2 * (MaxObjects + MaxNamespaces)
)

// The reasons of Events.
const (
	ReasonEnded   = "LeaseEnded"
	ReasonRenewed = "LeaseRenewed"
)

// Writer writes Events. target.Client implements it.
type Writer interface {
	RecordEvent(ctx context.Context, e target.Recorded) error
}

// Recorder queues Events about what the end of a lease stops, and Run writes them.
type Recorder struct {
	log    *slog.Logger
	writer func() (Writer, error)
	wake   chan struct{} // one slot

	mu      sync.Mutex
	end     string // names the end of the lease; empty while the lease holds
	last    string // end, also after that
	why     string
	notes   map[place]*note
	objects int // notes that are not about a Namespace
	renewed int // objects that were told to run again since the lease has ended
	queue   []target.Recorded
	denied  bool // the target refuses Events: nothing is queued until it is tried again
	told    bool // that the target refuses Events was logged
}

// place is where an object is on the target. Its UID is not part of it: a Pod that was deleted
// begins again with another one.
type place struct{ kind, namespace, name string }

// note is an object that is stopped.
type note struct {
	about target.Involved
	end   string
	since time.Time
	count int
}

// New returns a Recorder. writer returns what writes to the target.
func New(writer func() (Writer, error), log *slog.Logger) *Recorder {
	return &Recorder{log: log, writer: writer, wake: make(chan struct{}, 1), notes: map[place]*note{},
		last: time.Now().Format(time.RFC3339)}
}

// Began says that the lease has ended. end names this end of it, also after a restart, and why says
// since when and for what reason, for people.
func (r *Recorder) Began(end, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end, r.last, r.why, r.denied, r.renewed = end, end, why, false, 0
	for at, n := range r.notes {
		if n.end != end {
			r.dropLocked(at) // it went while it was stopped, or is looked at again
		}
	}
}

func (r *Recorder) dropLocked(at place) {
	delete(r.notes, at)
	if !isNamespace(at) {
		r.objects--
	}
}

// Renewed says that the lease holds again.
func (r *Recorder) Renewed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end = ""
	for at, n := range r.notes {
		if isNamespace(at) {
			r.dropLocked(at)
			r.renewedLocked(n.end, n.about)
		}
	}
}

// Stopped says that an object must not run, because the lease has ended.
func (r *Recorder) Stopped(about target.Involved) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.end == "" {
		return // Began comes, and then everything is looked at again
	}
	if r.notes[placeOf(about)] == nil && r.objects >= MaxObjects {
		about = target.Involved{APIVersion: "v1", Kind: "Namespace", Namespace: about.Namespace, Name: about.Namespace}
	}
	at := placeOf(about)
	switch {
	case r.notes[at] != nil:
		return
	case !isNamespace(at):
		r.objects++
	case len(r.notes)-r.objects >= MaxNamespaces:
		return
	}
	n := &note{about: about, end: r.end, since: time.Now(), count: 1}
	r.notes[at] = n
	r.endedLocked(n)
}

// Started says that an object may run. With was it is known to have been stopped until now, also by
// an agent before a restart.
func (r *Recorder) Started(about target.Involved, was bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := placeOf(about)
	n := r.notes[at]
	switch {
	case n != nil:
		r.dropLocked(at)
		r.renewed++
		r.renewedLocked(n.end, about)
	case was && r.objects+r.renewed < MaxObjects:
		r.renewed++
		r.renewedLocked(r.last, about)
	}
}

func placeOf(o target.Involved) place { return place{o.Kind, o.Namespace, o.Name} }

func isNamespace(at place) bool { return at.kind == "Namespace" }

func (r *Recorder) endedLocked(n *note) {
	r.queueLocked(target.Recorded{
		About: n.about, Name: eventName(n.about, n.end, ReasonEnded), Type: "Warning", Reason: ReasonEnded,
		Message: endedMessage(n.about.Kind, r.why), First: n.since, Last: time.Now(), Count: n.count,
	})
}

func (r *Recorder) renewedLocked(end string, about target.Involved) {
	now := time.Now()
	r.queueLocked(target.Recorded{
		About: about, Name: eventName(about, end, ReasonRenewed), Type: "Normal", Reason: ReasonRenewed,
		Message: renewedMessage(about.Kind), First: now, Last: now, Count: 1,
	})
}

func (r *Recorder) queueLocked(e target.Recorded) {
	if r.denied || len(r.queue) >= maxQueued {
		return
	}
	r.queue = append(r.queue, e)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// maxName is the length of a name in Kubernetes.
const maxName = 253

// eventName is the name of the Event about an object at one end of a lease.
func eventName(about target.Involved, end, reason string) string {
	h := fnv.New64a()
	for _, part := range []string{about.Kind, about.Name, about.UID, end, reason} {
		h.Write(append([]byte(part), 0))
	}
	suffix := fmt.Sprintf(".%016x", h.Sum64())
	return about.Name[:min(len(about.Name), maxName-len(suffix))] + suffix
}

func endedMessage(kind, why string) string {
	return fmt.Sprintf("the lease of this site has ended: %s. %s until the parent is heard again and nothing that it "+
		"has sent is lacking, because it may run elsewhere. Mend the link to the parent; skerry doctor says what is wrong "+
		"with it", why, stopWords(kind))
}

func stopWords(kind string) string {
	switch kind {
	case "Pod":
		return "This Pod must not run twice and was deleted"
	case "Job", "CronJob":
		return "This " + kind + " must not run twice and is suspended"
	case "Namespace":
		return "Workloads of this namespace that must not run twice are stopped, more than have Events of their own,"
	default:
		return "This " + kind + " must not run twice and is scaled to zero"
	}
}

func renewedMessage(kind string) string {
	what := "this " + kind + " is still to be here, and runs again"
	if kind == "Namespace" {
		what = "what is still to be in this namespace runs again"
	}
	return "the lease of this site holds again: the parent was heard; " + what
}

// Run writes Events until ctx ends.
func (r *Recorder) Run(ctx context.Context) {
	repeat := time.NewTicker(RepeatEvery)
	defer repeat.Stop()
	for {
		e, some := r.next()
		if !some {
			select {
			case <-r.wake:
			case <-repeat.C:
				r.repeat()
			case <-ctx.Done():
				return
			}
			continue
		}
		wait := pause
		if !r.write(ctx, e) {
			r.putBack(e)
			wait = again
		}
		if !ondemand.Pause(ctx, wait) {
			return
		}
	}
}

func (r *Recorder) next() (target.Recorded, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) == 0 {
		r.queue = nil
		return target.Recorded{}, false
	}
	e := r.queue[0]
	r.queue = r.queue[1:]
	return e, true
}

func (r *Recorder) putBack(e target.Recorded) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = append([]target.Recorded{e}, r.queue...)
}

// repeat queues all Events about what is stopped again.
func (r *Recorder) repeat() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.denied = false
	for _, n := range r.notes {
		if r.end != "" && n.end == r.end {
			n.count++
			r.endedLocked(n)
		}
	}
}

// write writes one Event. It reports false when that is to be tried again.
func (r *Recorder) write(ctx context.Context, e target.Recorded) bool {
	w, err := r.writer()
	if err == nil {
		err = w.RecordEvent(ctx, e)
	}
	if err == nil {
		return true
	}
	var status *apierrors.StatusError
	switch {
	case apierrors.HasStatusCause(err, "NamespaceTerminating"):
		return true
	case apierrors.IsForbidden(err):
		r.refused(err)
		return true
	case errors.Is(err, target.ErrNotServed):
		return true
	case errors.As(err, &status) && status.ErrStatus.Code < http.StatusInternalServerError &&
		!apierrors.IsTooManyRequests(err) && !apierrors.IsUnauthorized(err) && !apierrors.IsTimeout(err):
		r.log.Debug("an Event about a stopped workload was refused", "event", e.Name, "err", err)
		return true
	}
	r.log.Debug("an Event about a stopped workload could not be written", "event", e.Name, "err", err)
	return false
}

// refused drops what waits: the target lets this agent write no Events.
func (r *Recorder) refused(err error) {
	r.mu.Lock()
	first := !r.told
	r.queue, r.denied, r.told = nil, true, true
	r.mu.Unlock()
	if first {
		r.log.Warn("the agent may not write Events at its cluster, so nobody sees there by kubectl what the end of "+
			"the lease stops; give it the right: skerry agent rbac | kubectl apply -f -", "err", err)
	}
}

package sessions

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/tunnel/ondemand"
)

const (
	// countSettle is how long news of a target gather before what it has is counted.
	countSettle = time.Second
	// countShare is how many times as long as counting took nothing is counted: of thousands of
	// targets that report all the time a twentieth of a core.
	countShare = 20
	// maxNamed is how many refusals and moves a status names.
	maxNamed = 10
)

// progress is how far a target is with what is placed on it. It is never changed in place.
type progress struct {
	tally placement.Tally
	// moves are the first of so many.
	moves []placement.Moving
	all   int
	// requested is what is placed there, where the target has bounds.
	requested placement.Requests
}

// progresses are those of all targets that have a session, and which of them are to be counted
// again.
type progresses struct {
	mu    sync.Mutex
	of    map[string]*progress
	dirty map[string]bool
	wake  chan struct{}
}

func newProgresses() *progresses {
	return &progresses{of: map[string]*progress{}, dirty: map[string]bool{}, wake: make(chan struct{}, 1)}
}

// Recount tells that what Config.Tally or Config.Moves says of a target may have changed. It does
// not wait.
func (srv *Server) Recount(target string) {
	p := srv.progress
	p.mu.Lock()
	p.dirty[target] = true
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// count keeps the progress of targets until ctx ends.
func (srv *Server) count(ctx context.Context) {
	p := srv.progress
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
		}
		if !ondemand.Pause(ctx, countSettle) {
			return
		}
		p.mu.Lock()
		names := slices.Collect(maps.Keys(p.dirty))
		clear(p.dirty)
		p.mu.Unlock()
		for _, name := range names {
			began := time.Now()
			srv.countOne(name)
			if !ondemand.Pause(ctx, countShare*time.Since(began)) {
				return
			}
		}
	}
}

// countOne counts what a target has; its status is written with others of its kind, see
// Server.findStaleStatuses.
func (srv *Server) countOne(name string) {
	s := srv.session(name)
	if s == nil {
		srv.targets.touch(name) // how far it is drained may be news
		return
	}
	is := &progress{tally: srv.cfg.Summary.Tally(name, maxNamed), moves: srv.cfg.Delivery.MovesOf(name)}
	if room, _ := srv.cfg.Delivery.Room(name); room.Bounds != nil || room.Nodes != nil {
		is.requested = room.Requested
	}
	is.all, is.moves = len(is.moves), is.moves[:min(len(is.moves), maxNamed)]
	p := srv.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	if before := p.of[name]; before == nil || !reflect.DeepEqual(before, is) {
		p.of[name] = is
		s.markChanged()
	}
}

// get returns the progress of a target, nil while it was not counted.
func (p *progresses) get(name string) *progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.of[name]
}

// forget drops a target that was removed.
func (p *progresses) forget(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.of, name)
	delete(p.dirty, name)
}

// refuses reports whether the target refuses something.
func (p *progress) refuses() bool { return p != nil && p.tally.Refused > 0 }

// advance puts the progress of a target into its status.
func advance(status *v1alpha1.SyncTargetStatus, p *progress) {
	if p == nil {
		return
	}
	status.Applied, status.Refused = int32(p.tally.Applied), int32(p.tally.Refused)
	status.Refusals, status.Moves, status.MovesTotal = nil, nil, int32(p.all)
	for _, r := range p.tally.First {
		status.Refusals = append(
			status.Refusals,
			v1alpha1.Refusal{Object: r.Key.String(), Reason: placement.Words(r.Reason), Message: placement.Words(r.Message)},
		)
	}
	for _, m := range p.moves {
		move := v1alpha1.MoveUnderWay{
			Object:  m.Key.String(),
			From:    m.From,
			To:      m.To,
			Phase:   string(m.Phase),
			Message: placement.Words(m.Message),
		}
		if !m.Since.IsZero() {
			since := metav1.NewTime(m.Since).Rfc3339Copy()
			move.Since = &since
		}
		status.Moves = append(status.Moves, move)
	}
}

package offers

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/wellknown"
)

// classWatch is a watch of stored classes that begins with the offered ones. When one is deleted
// that hid an offered one, that shows again. When what is offered changes, the watch ends, and its
// reader lists again: that is rare.
type classWatch struct {
	table   *Table
	space   string
	in      watch.Interface
	out     chan watch.Event
	done    chan struct{}
	expired chan struct{}
	stop    sync.Once
	end     sync.Once
}

// watchClasses registers a watch.
func (t *Table) watchClasses(ctx context.Context, in watch.Interface, begins beginning) (*classWatch, error) {
	w := &classWatch{
		table: t, space: request.Space(ctx), in: in,
		out: make(chan watch.Event), done: make(chan struct{}), expired: make(chan struct{}),
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !begins.initial && !begins.now && (begins.after < t.offered || begins.after < t.limits[w.space].at) {
		return nil, apierrors.NewResourceExpired("what targets offer has changed since then: list again")
	}
	t.classes[w] = struct{}{}
	return w, nil
}

// ResultChan implements watch.Interface.
func (w *classWatch) ResultChan() <-chan watch.Event { return w.out }

// Stop implements watch.Interface.
func (w *classWatch) Stop() {
	w.table.mu.Lock()
	delete(w.table.classes, w)
	w.table.mu.Unlock()
	w.stop.Do(func() { close(w.done) })
	w.in.Stop()
}

// expire ends the watch with an error that says to list again.
func (w *classWatch) expire() { w.end.Do(func() { close(w.expired) }) }

// run hands out what is offered, then what happens to what is stored. offered returns the offered
// class of a name, nil when there is none.
func (w *classWatch) run(first []wellknown.Object, offered func(name string) wellknown.Object) {
	defer close(w.out)
	for _, class := range first {
		if !w.send(watch.Event{Type: watch.Added, Object: class}) {
			return
		}
	}
	for {
		select {
		case e, ok := <-w.in.ResultChan():
			if !ok || !w.send(e) {
				return
			}
			if e.Type != watch.Deleted {
				continue
			}
			gone := metadata.Of(e.Object)
			if back := offered(gone.GetName()); back != nil {
				back.SetResourceVersion(gone.GetResourceVersion())
				if !w.send(watch.Event{Type: watch.Added, Object: back}) {
					return
				}
			}
		case <-w.expired:
			status := apierrors.NewResourceExpired("what targets offer has changed: list again").Status()
			w.send(watch.Event{Type: watch.Error, Object: &status})
			return
		case <-w.done:
			return
		}
	}
}

func (w *classWatch) send(e watch.Event) bool {
	select {
	case w.out <- e:
		return true
	case <-w.done:
		return false
	}
}

package wellknown

import (
	"sync"

	"k8s.io/apimachinery/pkg/watch"

	"skerry.dev/skerry/server/apiserver/metadata"
)

// knownWatch is a watch of a kind that has well-known objects. It begins with those that are asked
// for. When a stored object that hides one is deleted, it shows the well-known object again.
type knownWatch struct {
	in   watch.Interface
	out  chan watch.Event
	done chan struct{}
	once sync.Once
}

func watchWithKnown(in watch.Interface, first []Object, known func(name string) Object) watch.Interface {
	w := &knownWatch{in: in, out: make(chan watch.Event), done: make(chan struct{})}
	go w.run(first, known)
	return w
}

func (w *knownWatch) ResultChan() <-chan watch.Event { return w.out }

// Stop ends the watch. Its reader need not drain it.
func (w *knownWatch) Stop() {
	w.once.Do(func() { close(w.done) })
	w.in.Stop()
}

func (w *knownWatch) run(first []Object, known func(string) Object) {
	defer close(w.out)
	for _, obj := range first {
		if !w.send(watch.Event{Type: watch.Added, Object: obj}) {
			return
		}
	}
	for e := range w.in.ResultChan() {
		if !w.send(e) {
			return
		}
		if e.Type != watch.Deleted {
			continue
		}
		gone := metadata.Of(e.Object)
		if back := known(gone.GetName()); back != nil {
			back.SetResourceVersion(gone.GetResourceVersion())
			if !w.send(watch.Event{Type: watch.Added, Object: back}) {
				return
			}
		}
	}
}

func (w *knownWatch) send(e watch.Event) bool {
	select {
	case w.out <- e:
		return true
	case <-w.done:
		return false
	}
}

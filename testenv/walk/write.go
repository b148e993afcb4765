package walk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"skerry.dev/skerry/testenv/drive"
)

// writers is how many requests are under way at a time. An object is always one writer's, so its
// changes keep their order.
const writers = 8

// write carries out the writes of a cycle, each at its time, and returns when all have an answer.
func (w *walk) write(ctx context.Context, c cycle) error {
	began := time.Now()
	errs := make([]error, writers)
	var running sync.WaitGroup
	for i := range writers {
		running.Go(func() {
			for _, one := range c.writes {
				if one.object >= 0 && one.object%writers != i || one.object < 0 && i != 0 {
					continue
				}
				time.Sleep(time.Until(began.Add(one.at)))
				if err := w.one(ctx, one); err != nil && ctx.Err() == nil {
					errs[i] = errors.Join(errs[i], err)
				}
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// one makes one change. A request without an answer leaves the object unknown, which only a dead
// center may.
func (w *walk) one(ctx context.Context, one write) error {
	if one.do == move {
		return w.move(ctx, one.space, one.site)
	}
	o := w.model.objects[one.object]
	next, ok := after(o.shape, one)
	if o.unknown || !ok {
		return nil
	}
	w.history.object(o.key(), "space: %s %s, version %d", one.do, one.site, next.version)
	w.changing.RLock() // nothing moves in between
	was, on := o.shape, w.model.on(o.namespace, o.shape)
	o.shape, o.before = next, was
	w.judge.expect(o.key(), w.model.ways(o, on))
	o.unknown = true // for a namespace that moves before the answer comes
	w.changing.RUnlock()
	err := w.send(ctx, o, was)
	w.wrote.Add(1)
	if err == nil {
		w.changing.RLock()
		o.unknown = false
		w.changing.RUnlock()
		return nil
	}
	var status *drive.StatusError
	if errors.As(err, &status) && status.Code < 500 && status.Code != http.StatusTooManyRequests {
		return fmt.Errorf("%s %s: %w", one.do, o.key(), err)
	}
	w.changing.RLock()
	w.judge.expect(o.key(), w.model.ways(o, on))
	w.changing.RUnlock()
	w.history.object(o.key(), "space: no answer: %v", err)
	return nil
}

// after returns what an object is after a write, and whether there is anything to write.
func after(s shape, one write) (shape, bool) {
	next := shape{version: s.version + 1, exists: true, pin: s.pin, everywhere: s.everywhere}
	switch one.do {
	case remove:
		return shape{version: s.version}, s.exists
	case pin:
		next.pin = one.site
	case unpin:
		next.pin = ""
	case spread:
		next.everywhere = true
	case gather:
		next.everywhere = false
	}
	return next, true
}

func (w *walk) send(ctx context.Context, o *object, was shape) error {
	collection := "/api/v1/namespaces/" + o.namespace + "/configmaps"
	switch {
	case !o.exists:
		_, err := w.lab.space.Do(ctx, http.MethodDelete, collection+"/"+o.name, "", nil)
		return err
	case !was.exists:
		return w.lab.space.Create(ctx, collection, map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": o.name, "labels": labels(o.shape)}, "data": data(o.shape)})
	}
	return w.lab.space.MergePatch(ctx, collection+"/"+o.name, map[string]any{
		"metadata": map[string]any{"labels": labels(o.shape)}, "data": data(o.shape)})
}

const (
	pinLabel   = "skerry.dev/target"
	everywhere = "walk-everywhere"
)

// labels of an object; nil takes a label away.
func labels(s shape) map[string]any {
	out := map[string]any{pinLabel: nil, everywhere: nil}
	if s.pin != "" {
		out[pinLabel] = s.pin
	}
	if s.everywhere {
		out[everywhere] = "yes"
	}
	return out
}

func data(s shape) map[string]any {
	return map[string]any{"v": strconv.Itoa(s.version), "text": fmt.Sprintf("the content of version %d", s.version)}
}

// move gives a namespace another site. It has no answer when the center dies, and is then asked
// again when that is back.
func (w *walk) move(ctx context.Context, namespace, site string) error {
	w.changing.Lock()
	w.model.via[namespace] = append(w.model.via[namespace], w.model.namespaces[namespace])
	w.model.namespaces[namespace] = site
	for _, o := range w.model.objects {
		if o.namespace == namespace {
			w.judge.expect(o.key(), w.model.ways(o, nil))
		}
	}
	w.changing.Unlock()
	w.history.fault("namespace %s moves to %s", namespace, site)
	err := w.label(ctx, namespace, site)
	var status *drive.StatusError
	if err == nil || errors.As(err, &status) && status.Code < 500 {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unmoved = append(w.unmoved, namespace)
	return nil
}

func (w *walk) label(ctx context.Context, namespace, site string) error {
	return w.lab.space.MergePatch(ctx, "/api/v1/namespaces/"+namespace,
		map[string]any{"metadata": map[string]any{"labels": map[string]any{pinLabel: site}}})
}

// settleSpace finds out what became of writes without an answer, when the center is back. It tells
// whether it has written something itself.
func (w *walk) settleSpace(ctx context.Context) (wrote bool, err error) {
	for _, n := range w.unmoved {
		if err := w.label(ctx, n, w.model.namespaces[n]); err != nil {
			return false, err
		}
	}
	wrote, w.unmoved = len(w.unmoved) > 0, nil
	shapes, err := readAll(ctx, w.lab.space)
	if err != nil {
		return wrote, err
	}
	for _, o := range w.model.objects {
		is := shapes[o.key()]
		switch want := o.shape; {
		case is == visible(want):
		case o.unknown && is == visible(o.before):
			w.history.object(o.key(), "space: the write without an answer was not made")
			o.shape = o.before
		default:
			w.judge.lostInSpace(o.key(), fmt.Sprintf("the space has %+v of %s, acknowledged was %+v", is, o.key(),
				visible(want)))
		}
		o.unknown = false
	}
	return wrote, nil
}

// visible is a shape as the space shows it: of what does not exist nothing is known.
func visible(s shape) shape {
	if !s.exists {
		return shape{}
	}
	return s
}

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"skerry.dev/skerry/testenv/drive"
)

// arrivals watches a collection and remembers when each object was first seen to satisfy a
// condition.
type arrivals struct {
	mu   sync.Mutex
	seen map[string]time.Time
	wake chan struct{}
	stop func()
}

// arrive begins to watch. mark returns the name under which the object counts, or "" when it does
// not.
func arrive(ctx context.Context, k *drive.Kube, path string, mark func(object) string) (*arrivals, error) {
	ctx, cancel := context.WithCancel(ctx)
	a := &arrivals{seen: map[string]time.Time{}, wake: make(chan struct{})}
	began, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- k.Watch(ctx, path, began, func(typ string, at time.Time, raw json.RawMessage) {
			var obj object
			if typ == "DELETED" || typ == "BOOKMARK" || json.Unmarshal(raw, &obj) != nil {
				return
			}
			if name := mark(obj); name != "" {
				a.mark(name, at)
			}
		})
	}()
	select {
	case <-began:
	case err := <-ended:
		cancel()
		return nil, fmt.Errorf("watch for arrivals: %w", err)
	}
	a.stop = func() { cancel(); <-ended }
	return a, nil
}

func (a *arrivals) mark(name string, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.seen[name]; ok {
		return
	}
	a.seen[name] = at
	close(a.wake)
	a.wake = make(chan struct{})
}

// wait returns when the object was seen.
func (a *arrivals) wait(ctx context.Context, name string) (time.Time, error) {
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	for {
		a.mu.Lock()
		at, ok := a.seen[name]
		wake := a.wake
		a.mu.Unlock()
		if ok {
			return at, nil
		}
		select {
		case <-wake:
		case <-deadline.C:
			return at, fmt.Errorf("%s did not arrive within 30 s", name)
		case <-ctx.Done():
			return at, ctx.Err()
		}
	}
}

func nameOf(obj object) string {
	meta, _ := obj["metadata"].(object)
	name, _ := meta["name"].(string)
	return name
}

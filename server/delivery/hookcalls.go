package delivery

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/store"
)

const (
	// hookPollTime is how long a webhook is left alone that has answered "not yet".
	hookPollTime = 5 * time.Second
	// hooksAtOnce is how many attempts of one space are started, or call their webhooks, at a time.
	hooksAtOnce = 8
)

// hookCalls are the attempts that are under way: calls of webhooks, and writes of Jobs. They are lost
// with the process, which begins them again.
type hookCalls struct {
	running sync.WaitGroup

	failures *catalog.HookFailures

	mu    sync.Mutex
	calls map[catalog.Attempt]*hookCall
	of    map[catalog.Ref]map[catalog.Attempt]struct{}
	rooms map[string]chan struct{} // by space
	// behind are the Services that hooks were called at, and how often their Pods changed.
	behind map[store.Key]int
}

// hookCall is an attempt that was started.
type hookCall struct {
	stop    context.CancelFunc
	ran     string // see hookRuns
	ended   bool
	failure string // how it has failed, empty when it has not
}

func newHookCalls(failures *catalog.HookFailures) *hookCalls {
	return &hookCalls{failures: failures, calls: map[catalog.Attempt]*hookCall{},
		of: map[catalog.Ref]map[catalog.Attempt]struct{}{}, rooms: map[string]chan struct{}{},
		behind: map[store.Key]int{}}
}

// wait waits for all attempts; their context is done.
func (c *hookCalls) wait() { c.running.Wait() }

// state is what has become of a webhook, and how it has failed.
func (c *hookCalls) state(a catalog.Attempt) (binding.HookState, string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch call := c.calls[a]; {
	case call == nil || !call.ended:
		return binding.HookRuns, ""
	case call.failure != "":
		return binding.HookFailed, call.failure
	}
	return binding.HookEnded, ""
}

// created is how the write of an attempt's Job has failed, empty when it has not.
func (c *hookCalls) created(a catalog.Attempt) string {
	_, failure := c.state(a)
	return failure
}

// remember keeps how an attempt has failed, with what it ran.
func (c *hookCalls) remember(a catalog.Attempt, f catalog.HookFailure) {
	c.mu.Lock()
	if call := c.calls[a]; call != nil {
		f.Ran = call.ran
	}
	c.mu.Unlock()
	c.failures.Remember(a, f)
}

// changes is how often the Pods behind a Service have changed that a hook was called at.
func (c *hookCalls) changes(source store.Key) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.behind[source]
}

// podsChanged counts the change of an EndpointSlice, and returns the Services that it may be of: its name
// begins with that of its Service.
func (c *hookCalls) podsChanged(slice store.Key) (of []store.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for service := range c.behind {
		if service.Space == slice.Space && service.Namespace == slice.Namespace &&
			strings.HasPrefix(slice.Name, service.Name) {
			c.behind[service]++
			of = append(of, service)
		}
	}
	return of
}

// start begins an attempt that has not begun, with what it runs. It ends by itself at a time.
func (c *hookCalls) start(
	ctx context.Context,
	d *Delivery,
	r catalog.Ref,
	a catalog.Attempt,
	h v1alpha1.MoveHook,
	l *look,
	until time.Time,
	ran string,
) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[a] != nil {
		return
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	call := &hookCall{stop: cancel, ran: ran}
	if source := hookSource(r.Key.Space, &h); source.Resource == "services" {
		c.behind[source] += 0 // from now on they are counted
	}
	c.calls[a] = call
	if c.of[r] == nil {
		c.of[r] = map[catalog.Attempt]struct{}{}
	}
	c.of[r][a] = struct{}{}
	room := c.rooms[r.Key.Space]
	if room == nil {
		room = make(chan struct{}, hooksAtOnce)
		c.rooms[r.Key.Space] = room
	}
	to := l.namesOf(l.facts.Wanted)
	c.running.Go(func() {
		defer cancel()
		var err error
		if h.Webhook != nil {
			err = d.callHook(ctx, room, r, a, h, to)
		} else if err = enter(ctx, room); err == nil {
			err = d.createHookJob(ctx, r, a, h, to)
			<-room
		}
		c.mu.Lock()
		call.ended = true
		if err != nil {
			call.failure = err.Error()
		}
		c.mu.Unlock()
		d.catalog.Groups.Add(r)
	})
}

// enter waits for a place among those of its space that do something now.
func enter(ctx context.Context, room chan struct{}) error {
	select {
	case room <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// keep ends the attempts of a record that it does not wait for any more.
func (c *hookCalls) keep(r catalog.Ref, those map[catalog.Attempt]struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	waits := map[string]bool{}
	for a := range those {
		waits[a.Key()] = true
	}
	for a := range c.of[r] {
		if _, ok := those[a]; ok {
			continue
		}
		c.calls[a].stop()
		delete(c.calls, a)
		if delete(c.of[r], a); !waits[a.Key()] {
			c.failures.Forget(a.Key())
		}
	}
	if len(c.of[r]) == 0 {
		delete(c.of, r)
	}
}

// forget ends all attempts of a record.
func (c *hookCalls) forget(r catalog.Ref) { c.keep(r, nil) }

// callHook calls a webhook until it answers that all is done, or fails.
func (d *Delivery) callHook(
	ctx context.Context,
	room chan struct{},
	r catalog.Ref,
	a catalog.Attempt,
	h v1alpha1.MoveHook,
	to []string,
) error {
	call := v1alpha1.HookCall{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "HookCall"},
		Key:      a.Key(), Hook: a.Name, Attempt: int(a.Failed) + 1, Space: r.Key.Space, Target: a.Target, Targets: to,
	}
	if r.Kind == catalog.OfPlacement {
		call.Placement = r.Key.Name
	}
	body, err := json.Marshal(call)
	if err != nil {
		return fmt.Errorf("encode the call: %w", err)
	}
	for {
		done, err := d.callOnce(ctx, room, r.Key.Space, h.Webhook, a.Key(), body)
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it answered 202 until its time was over: %w", ctx.Err())
		case <-time.After(hookPollTime):
		}
	}
}

// callOnce makes one call, and reports whether all is done.
func (d *Delivery) callOnce(
	ctx context.Context,
	room chan struct{},
	space string,
	h *v1alpha1.WebhookHook,
	key string,
	body []byte,
) (bool, error) {
	if err := enter(ctx, room); err != nil {
		return false, err
	}
	defer func() { <-room }()
	ctx, cancel := context.WithTimeout(ctx, time.Duration(max(h.TimeoutSeconds, 1))*time.Second)
	defer cancel()
	code, text, err := d.cfg.Webhook(ctx, space, h, key, body)
	switch {
	case err != nil:
		return false, fmt.Errorf("call the webhook: %w", err)
	case code == http.StatusAccepted:
		return false, nil
	case code == http.StatusOK:
		return true, nil
	case text != "":
		return false, fmt.Errorf("the webhook answers %d: %s", code, text)
	}
	return false, fmt.Errorf("the webhook answers %d", code)
}

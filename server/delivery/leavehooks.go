package delivery

import (
	"context"
	"fmt"
	"slices"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/binding"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// Hooks run before a target is left. The record says which one runs where, since when and at which
// attempt (binding.Hooks), and is stored before anything is run: a center that restarts goes on with
// the same attempt. A Job is an object of the space, which is placed on the target that is left and
// nowhere else, for as long as the record says so (hookjobs.go). A webhook is called again when its
// answer was lost (hookcalls.go). This file says what is known of the attempts.

// defaultHookTimeout is how long an attempt may take where its hook does not say.
const defaultHookTimeout = 10 * time.Minute

// hooked is what is known of the attempt of a hook that a record waits for.
type hooked struct {
	catalog.Attempt
	hook  v1alpha1.MoveHook
	state binding.HookState
	// paused: it begins later. away: its target has no session. job is its Job, while that has not ended, and ran
	// what it runs now, see hookRuns.
	paused, away bool
	job          store.Key
	ran          string
	// ignored: it has failed, and its policy lets the move go on. why says what is waited for, or how it
	// has failed.
	ignored bool
	why     string
}

// timeoutOf is how long an attempt of a hook may take.
func timeoutOf(h *v1alpha1.MoveHook) time.Duration {
	if h.Timeout != nil {
		return h.Timeout.Duration
	}
	return defaultHookTimeout
}

// hook fills in how many hooks run before a target is left, and what the catalog knows of the present one, see
// askHooks. The lock must be held.
func (d *Delivery) hook(l *look, t *catalog.Target, known *binding.Target) {
	if len(l.hooks) == 0 {
		return
	}
	if why := d.unreachable(t); why != "" {
		if l.unhooked == nil {
			l.unhooked = map[binding.TargetID]string{}
		}
		l.unhooked[known.ID] = why
		return
	}
	known.Hooks = uint8(len(l.hooks))
	for _, p := range l.record.Places {
		if p.Target == known.ID && p.Runs(known.Hooks) {
			if l.hooked == nil {
				l.hooked = map[binding.TargetID]hooked{}
			}
			l.hooked[known.ID] = d.attemptAt(l, t, p)
		}
	}
}

// unreachable says why no hook can run at a target any more, empty where one can. The lock must be held.
func (d *Delivery) unreachable(t *catalog.Target) string {
	now := time.Now()
	switch {
	case t.Emptied:
		return "it is being removed"
	case t.OutOfService():
		return "it is out of service"
	case t.Connected:
		return ""
	case t.EvictAfter > 0 && !t.AwaySince.IsZero() && now.Sub(t.AwaySince) >= t.EvictAfter:
		return "it is away for longer than its spec.evictAfter"
	}
	if ends := d.leaseEnds(t.Name); !ends.IsZero() && !now.Before(ends) {
		return "it is away and its lease has ended"
	}
	return ""
}

// leaseEnds is when the lease of a target ends that is away, zero where it has none.
func (d *Delivery) leaseEnds(target string) time.Time {
	if d.cfg.Leases == nil {
		return time.Time{}
	}
	if l := d.cfg.Leases.Lease(target, 0); l.Held {
		return l.Ends
	}
	return time.Time{}
}

// attemptAt is what the catalog knows of the attempt that a place waits for. The lock must be held.
func (d *Delivery) attemptAt(l *look, t *catalog.Target, p binding.Place) hooked {
	is := hooked{hook: l.hooks[p.Hooks.Ran], away: !t.Connected}
	is.Attempt = catalog.Attempt{Of: l.of, UID: t.UID, Target: t.Name, Name: is.hook.Name, Began: p.Hooks.Began,
		Since: p.Since, Failed: p.Hooks.Failed}
	is.ran = d.hookRuns(l, &is.hook)
	switch {
	case time.Now().Before(is.begins()):
		before, known := d.catalog.HookFailures.Of(is.Key())
		if is.paused, is.why = true, before.Text; !known || before.Ran != is.ran {
			is.state = binding.HookChanged // a center that has just begun has seen no failure, and tries it
		}
	case is.hook.Job != nil:
		is.readJob(d, l.space)
	default:
		is.state, is.why = d.hooks.state(is.Attempt)
	}
	return is
}

// begins is when an attempt begins, or has begun.
func (is *hooked) begins() time.Time { return time.Unix(int64(is.Since), 0) }

// askHooks finds out what has become of the hooks that are under way. No lock is held.
func (l *look) askHooks(d *Delivery) {
	for i := range l.facts.Targets {
		t := &l.facts.Targets[i]
		if is, runs := l.hooked[t.ID]; runs {
			is.ask(d, l)
			t.Hook, l.hooked[t.ID] = is.state, is
		}
	}
}

// ask finds out what has become of one.
func (is *hooked) ask(d *Delivery, l *look) {
	if is.paused {
		return
	}
	if is.job != (store.Key{}) {
		is.why = jobText(is.job)
		if p, ok := d.cfg.Progress(is.Target, is.job); ok && p.Refused != nil {
			is.why += ": " + p.Refused.Reason + ": " + p.Refused.Message
		}
		if is.away {
			is.why += ", but " + is.Target + " is away. If it is really down: skerry target out-of-service " + is.Target
		}
	}
	if limit := timeoutOf(&is.hook); is.state == binding.HookRuns && time.Since(is.begins()) >= limit {
		text := fmt.Sprintf("it took longer than %s", limit)
		if is.why != "" {
			text += ": " + is.why
		}
		is.state, is.why = binding.HookFailed, text
	}
	if is.state != binding.HookFailed {
		return
	}
	d.hooks.remember(is.Attempt, catalog.HookFailure{Text: is.why, Space: l.space, Of: l.of,
		Source: hookSource(l.space, &is.hook), Ran: is.ran})
	if is.hook.FailurePolicy == v1alpha1.HookIgnore {
		is.state, is.ignored = binding.HookEnded, true
	}
}

// hookSource is the object that says what a hook runs, empty for a webhook at a URL.
func hookSource(space string, h *v1alpha1.MoveHook) store.Key {
	switch {
	case h.Job != nil:
		return cronJobKey(space, h)
	case h.Webhook != nil && h.Webhook.Service != nil:
		return store.Key{Space: space, Resource: "services", Namespace: h.Webhook.Service.Namespace,
			Name: h.Webhook.Service.Name}
	}
	return store.Key{}
}

// hookRuns tells apart what a hook runs: by its Placement, the object that it names, and the Pods behind
// that. The lock must be held.
func (d *Delivery) hookRuns(l *look, h *v1alpha1.MoveHook) string {
	source, content := hookSource(l.space, h), uint64(0)
	if o := d.catalog.Find(source); o != nil {
		content = o.Content
	}
	return fmt.Sprint(l.spec, " ", content, " ", d.hooks.changes(source))
}

// whatHookRuns names for people what says what a hook runs.
func whatHookRuns(h *v1alpha1.MoveHook) string {
	switch s := hookSource("", h); s.Resource {
	case "cronjobs":
		return "CronJob " + s.Namespace + "/" + s.Name
	case "services":
		return "Service " + s.Namespace + "/" + s.Name
	}
	return "its webhook in there"
}

// podsChanged takes over that a target reports other Pods behind a Service, by the EndpointSlice that it
// reports: a hook that has failed may reach one now. The lock must be held.
func (d *Delivery) podsChanged(slice store.Key) {
	if slice.Group != "discovery.k8s.io" || slice.Resource != "endpointslices" {
		return
	}
	for _, source := range d.hooks.podsChanged(slice) {
		d.catalog.WakeFailed(source)
	}
}

// hookWords say what hook a record waits for, empty for none.
func (l *look) hookWords(next binding.Record) (placement.Phase, string) {
	for _, p := range next.Places {
		name := l.names[p.Target]
		if !p.Runs(uint8(len(l.hooks))) || l.unhooked[p.Target] != "" {
			continue
		}
		h := l.hooks[p.Hooks.Ran]
		at := time.Unix(int64(p.Since), 0).UTC().Format(time.RFC3339)
		why := ""
		if is, ok := l.hooked[p.Target]; ok && is.Name == h.Name && is.why != "" {
			why = ": " + is.why
		}
		if l.facts.Now < int64(p.Since) {
			return placement.HookFailed, fmt.Sprintf("hook %s failed at %s, attempt %d, and is tried again at %s%s. "+
				"%[2]s is not left before it succeeds: mend what it runs, or take it out of spec.move.beforeLeaving. "+
				"A change of the Placement, or of %[6]s, tries it again at once",
				h.Name, name, p.Hooks.Failed, at, why, whatHookRuns(&h))
		}
		text := fmt.Sprintf("hook %s runs before %s is left, since %s", h.Name, name, at)
		if p.Hooks.Failed > 0 {
			text += fmt.Sprintf(", attempt %d", int(p.Hooks.Failed)+1)
		}
		return placement.HookRunning, text + why
	}
	return "", ""
}

// tellHooks tells what has become of hooks with a step that was recorded.
func (d *Delivery) tellHooks(l *look, next binding.Record, e placement.Event) {
	say := func(warning bool, reason, text string, args ...any) {
		e.Warning, e.Reason, e.Message = warning, reason, fmt.Sprintf(text, args...)
		d.cfg.Event(e)
	}
	for _, p := range l.record.Places {
		name := l.names[p.Target]
		if why := l.unhooked[p.Target]; why != "" && !p.Off && !next.Has(p.Target) {
			say(true, "HookSkipped", "%s is left without its hooks: %s", name, why)
			continue
		}
		is, ran := l.hooked[p.Target]
		if !ran {
			continue
		}
		now := after(next, p.Target)
		switch ended := now.Ran > p.Hooks.Ran || !next.Has(p.Target); {
		case is.state == binding.HookEnded && is.ignored && ended:
			say(true, "HookIgnored", "hook %s failed at %s, which is left all the same (failurePolicy Ignore): %s",
				is.Name, name, is.why)
		case is.state == binding.HookEnded && ended:
			say(false, "HookEnded", "hook %s has ended at %s", is.Name, name)
		case now.Failed > p.Hooks.Failed:
			say(true, "HookFailed", "hook %s failed at %s, which is not left: %s", is.Name, name, is.why)
		}
	}
}

func after(r binding.Record, t binding.TargetID) binding.Hooks {
	for _, p := range r.Places {
		if p.Target == t {
			return p.Hooks
		}
	}
	return binding.Hooks{}
}

// runHooks starts what the next state of a record waits for, and ends what none waits for any more. It
// looks at the record again when an attempt has taken too long, and when the next one begins.
func (d *Delivery) runHooks(ctx context.Context, l *look, r catalog.Ref, next binding.Record) {
	begun := func(p binding.Place) bool { return p.Hooks.Began != 0 }
	if !slices.ContainsFunc(l.record.Places, begun) && !slices.ContainsFunc(next.Places, begun) {
		return
	}
	d.catalog.RLock()
	defer d.catalog.RUnlock()
	keep, now := map[catalog.Attempt]struct{}{}, time.Now()
	for _, p := range next.Places {
		is := d.catalog.Records.Targets.Of(p.Target)
		if !p.Runs(uint8(len(l.hooks))) || l.unhooked[p.Target] != "" {
			continue
		}
		h := l.hooks[p.Hooks.Ran]
		a := catalog.Attempt{Of: l.of, UID: is.UID, Target: is.Name, Name: h.Name, Began: p.Hooks.Began, Since: p.Since,
			Failed: p.Hooks.Failed}
		keep[a] = struct{}{}
		since := time.Unix(int64(p.Since), 0)
		until := since.Add(timeoutOf(&h))
		if now.Before(since) {
			until = since
		} else {
			d.hooks.start(ctx, d, r, a, h, l, until, d.hookRuns(l, &h))
		}
		if ends := d.leaseEnds(is.Name); !ends.IsZero() && ends.After(now) && ends.Before(until) {
			until = ends
		}
		d.catalog.Groups.AddAfter(r, max(time.Until(until), 0)+time.Second)
	}
	d.hooks.keep(r, keep)
	d.TidyHooks()
}

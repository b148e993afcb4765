package collect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// work brings a collector and its CombinedStatus up to date, or the CombinedStatus of a Placement.
func (c *Collect) work(ctx context.Context, k store.Key) error {
	began := time.Now()
	c.mu.Lock()
	t := c.turns[k]
	if t == nil {
		t = &turn{}
		c.turns[k] = t
	}
	t.waiting = false
	if wait := c.waitLocked(k.Space, t, began); wait > 0 {
		c.againLocked(k, t, wait)
		c.mu.Unlock()
		return nil
	}
	c.spaces[k.Space] = time.Time{}
	col, naming := c.collectors[k], c.named[k]
	_, named := c.named[k]
	c.mu.Unlock()
	done, err := true, error(nil)
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		now := time.Now()
		c.spaces[k.Space] = now.Add(now.Sub(began))
		if t.next = now.Add(max(pause, share*now.Sub(began))); !done {
			t.next = time.Time{}
			c.againLocked(k, t, 0)
		}
	}()
	switch {
	case col != nil:
		done, err = c.collect(ctx, col)
	case named:
		err = c.collectFor(ctx, k, naming)
	case k.Resource == "placements":
		err = c.remove(ctx, k)
	}
	return err
}

// spaceBusy is how long a collector waits while another one of its space is worked on.
const spaceBusy = 200 * time.Millisecond

// waitLocked is how long the turn of a collector is still away. A space has one worker at a time, and
// half of its time, however many collectors it has.
func (c *Collect) waitLocked(space string, t *turn, now time.Time) time.Duration {
	next, known := c.spaces[space]
	if known && next.IsZero() {
		return max(spaceBusy, t.next.Sub(now))
	}
	return max(next.Sub(now), t.next.Sub(now))
}

// againLocked queues a collector or a Placement whose turn it is not yet.
func (c *Collect) againLocked(k store.Key, t *turn, after time.Duration) {
	t.waiting = true
	c.queue.AddAfter(k, after)
}

// collect works on a StatusCollector. It returns false when there are more reports to evaluate.
func (c *Collect) collect(ctx context.Context, col *collector) (done bool, err error) {
	var f fold
	if col.program == nil {
		f.results = []v1alpha1.CombinedResult{refused(col)}
	} else {
		if done, err := c.refresh(ctx, col); !done || err != nil {
			return done, err
		}
		c.fold(&f, col, "")
	}
	c.mu.Lock()
	c.wakeNamingLocked(col.key)
	c.mu.Unlock()
	if err := c.writeStatus(ctx, col, f); err != nil {
		return true, err
	}
	return true, c.put(ctx, col.key, col.key.Name, owner("StatusCollector", col.key.Name, col.uid), f)
}

// collectFor works on a Placement that names collectors.
func (c *Collect) collectFor(ctx context.Context, k store.Key, n naming) error {
	var f fold
	for _, name := range n.collectors {
		ck := k
		ck.Resource, ck.Name = "statuscollectors", name
		c.mu.Lock()
		col := c.collectors[ck]
		c.mu.Unlock()
		switch {
		case col == nil:
			f.results = append(f.results, v1alpha1.CombinedResult{Name: name, ColumnNames: []string{}, Message: fmt.Sprintf(
				"there is no StatusCollector %q in this space; create it, or take it out of spec.status.collectors", name)})
		case col.program == nil:
			f.results = append(f.results, refused(col))
		default:
			c.fold(&f, col, k.Name)
		}
	}
	return c.put(ctx, k, v1alpha1.CombinedStatusOfPlacement(k.Name), owner("Placement", k.Name, n.uid), f)
}

func refused(col *collector) v1alpha1.CombinedResult {
	return v1alpha1.CombinedResult{Name: col.key.Name, ColumnNames: []string{}, Message: col.problem}
}

// fold is what is written of one or several collectors.
type fold struct {
	results []v1alpha1.CombinedResult
	targets map[string]struct{} // whose reports count

	reports, errors int64
	first           string // of the sources with an error, in order, and its words
	lastError       string
}

// fold adds the result of a collector: of all objects, or of those that a Placement decides about.
func (c *Collect) fold(f *fold, col *collector, of string) {
	if f.targets == nil {
		f.targets = map[string]struct{}{}
	}
	where := map[store.Key]map[string]struct{}{} // of the placed objects that belong
	belongs := func(s source, owner store.Key) bool {
		on, known := where[owner]
		if !known {
			at, _ := c.cfg.Delivery.Located(owner)
			if of == "" || c.cfg.Delivery.DecidedBy(owner) == of {
				on = make(map[string]struct{}, len(at.Targets))
				for _, t := range at.Targets {
					on[t] = struct{}{}
				}
			}
			where[owner] = on
		}
		_, is := on[s.target]
		return is
	}
	col.mu.RLock()
	defer col.mu.RUnlock()
	f.results = append(f.results, col.program.fold(col.key.Name, func(yield func(*contribution) bool) {
		for s, is := range col.contributions {
			if !belongs(s, is.owner) {
				continue
			}
			f.targets[s.target] = struct{}{}
			if is.failed != "" {
				f.errors++
				if id := s.target + " " + s.key.Encode(); f.first == "" || id < f.first {
					f.first = id
					f.lastError = fmt.Sprintf("%s at %s: %s", nameOf(s.key), s.target, is.failed)
				}
				continue
			}
			if f.reports++; !yield(is.contribution) {
				return
			}
		}
	}))
}

func nameOf(k store.Key) string {
	return strings.Join(strings.FieldsFunc(k.Resource+"/"+k.Namespace+"/"+k.Name, func(r rune) bool { return r == '/' }),
		"/")
}

// freshness is how old a fold is, and when that has to be looked at again.
func (c *Collect) freshness(f fold, now time.Time) (is v1alpha1.Freshness, again time.Duration) {
	is.Reporting = int32(len(f.targets))
	for t := range f.targets {
		out, silent := c.cfg.Outages.Outage(t)
		if !silent {
			continue
		}
		if due := out.Since.Add(outageAge).Sub(now); due > 0 {
			again = min(cmp.Or(again, due), due)
			continue
		}
		is.Stale++
		if since := metav1.NewTime(out.Since).Rfc3339Copy(); is.Oldest == nil || since.Before(is.Oldest) {
			is.Oldest = &since
		}
	}
	return is, again
}

func owner(kind, name, uid string) map[string]any {
	return map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": kind, "name": name, "uid": uid}
}

// put writes a CombinedStatus when it is another.
func (c *Collect) put(ctx context.Context, of store.Key, name string, owner map[string]any, f fold) error {
	fresh, again := c.freshness(f, time.Now())
	if again > 0 {
		c.queue.AddAfter(of, again)
	}
	k := combinedKey(of.Space, name)
	c.mu.Lock()
	was, exists := c.combined[k]
	c.mu.Unlock()
	if exists && apiequality.Semantic.DeepEqual(was.object.Results, f.results) &&
		apiequality.Semantic.DeepEqual(was.object.Freshness, fresh) && owned(was.object, owner) {
		return nil
	}
	freshness := map[string]any{"reporting": fresh.Reporting, "stale": fresh.Stale, "oldest": fresh.Oldest}
	obj := map[string]any{"metadata": map[string]any{"name": name, "ownerReferences": []any{owner}},
		"results": f.results, "freshness": freshness}
	if !exists {
		if fresh.Oldest == nil {
			delete(freshness, "oldest")
		}
		obj["apiVersion"], obj["kind"] = v1alpha1.GroupVersion.String(), "CombinedStatus"
		plain, err := asJSON(obj)
		if err == nil {
			_, err = c.cfg.API.Create(ctx, k, v1alpha1.GroupVersion.String(), plain)
		}
		if err != nil {
			return fmt.Errorf("create %s: %w", k, err)
		}
		return nil
	}
	patch, err := json.Marshal(obj)
	if err == nil {
		_, err = c.cfg.API.Patch(ctx, k, v1alpha1.GroupVersion.String(), "", patch)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write %s: %w", k, err)
	}
	return nil
}

func owned(o v1alpha1.CombinedStatus, by map[string]any) bool {
	return len(o.OwnerReferences) == 1 && string(o.OwnerReferences[0].UID) == by["uid"]
}

func combinedKey(space, name string) store.Key {
	return store.Key{Space: space, Group: v1alpha1.GroupVersion.Group, Resource: "combinedstatuses", Name: name}
}

// placementOf returns the Placement that a CombinedStatus is of, by its name.
func placementOf(name string) (string, bool) {
	return strings.CutPrefix(name, v1alpha1.CombinedStatusOfPlacement(""))
}

func asJSON(v any) (out map[string]any, err error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(b, &out)
}

// remove takes away the CombinedStatus of a Placement that names no collectors any more.
func (c *Collect) remove(ctx context.Context, placement store.Key) error {
	k := combinedKey(placement.Space, v1alpha1.CombinedStatusOfPlacement(placement.Name))
	c.mu.Lock()
	was, exists := c.combined[k]
	delete(c.turns, placement)
	c.mu.Unlock()
	if !exists {
		return nil
	}
	err := c.cfg.API.Delete(ctx, k, v1alpha1.GroupVersion.String(), was.uid)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("remove %s: %w", k, err)
	}
	return nil
}

// writeStatus writes the status of a StatusCollector when it is another.
func (c *Collect) writeStatus(ctx context.Context, col *collector, f fold) error {
	c.mu.Lock()
	was, revision := col.status, col.revision
	c.mu.Unlock()
	col.mu.RLock()
	full := col.full
	col.mu.RUnlock()
	now := *was.DeepCopy()
	now.ObservedGeneration, now.Reports, now.Errors, now.LastError = col.generation, f.reports, f.errors, f.lastError
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Valid",
		ObservedGeneration: col.generation}
	switch {
	case col.problem == tooMany:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "TooManyCollectors", col.problem
	case col.program == nil:
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "InvalidSpec", col.problem
	case full:
		ready.Status, ready.Reason = metav1.ConditionFalse, "TooManyReports"
		ready.Message = fmt.Sprintf("only %d reports are folded, and %d for all StatusCollectors of a space; narrow "+
			"spec.scope", maxContributions, maxOfSpace)
	}
	ready.LastTransitionTime = metav1.Now().Rfc3339Copy()
	apimeta.SetStatusCondition(&now.Conditions, ready)
	if apiequality.Semantic.DeepEqual(was, now) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": col.uid, "resourceVersion": strconv.FormatInt(revision, 10)},
		"status": map[string]any{"observedGeneration": now.ObservedGeneration, "reports": now.Reports,
			"errors": now.Errors, "lastError": textOrNull(now.LastError), "conditions": now.Conditions},
	})
	if err != nil {
		return fmt.Errorf("encode status of %s: %w", col.key, err)
	}
	_, err = c.cfg.API.Patch(ctx, col.key, v1alpha1.GroupVersion.String(), "status", patch)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write status of %s: %w", col.key, err)
	}
	return nil
}

// tooMany is the problem of a collector that waits.
var tooMany = fmt.Sprintf("the space has %d other StatusCollectors, and no more are folded; delete some", maxCollectors)

func textOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

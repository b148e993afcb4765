package progress

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// write makes the status of one Placement and writes it when it is another.
func (p *Progress) write(ctx context.Context, k store.Key) error {
	began := time.Now()
	p.mu.Lock()
	b := p.books[k]
	if b == nil {
		p.mu.Unlock()
		return nil
	}
	b.waiting = false
	if rest := b.next.Sub(began); rest > 0 {
		p.wakeLocked(k, b, rest)
		p.mu.Unlock()
		return nil
	}
	p.mu.Unlock()
	content, ok := p.cfg.Placements.Content(k)
	if !ok {
		return nil
	}
	if err := p.refresh(b, content, began); err != nil {
		return err
	}
	p.mu.Lock()
	verdicts := make([]*verdict, len(content.Targets))
	for i, t := range content.Targets {
		verdicts[i] = b.verdicts[t]
	}
	was, revision, generation, decided := b.status, b.revision, b.generation, b.decided
	p.mu.Unlock()
	if !decided {
		return nil // the decision comes first
	}
	t := p.tally(content.Targets, verdicts, began)
	if !t.due.IsZero() {
		p.queue.AddAfter(k, t.due.Sub(began))
	}
	now := t.status(was, generation, began)
	if same(was, now) {
		return nil
	}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		b.next = time.Now().Add(max(pause, share*time.Since(began)))
	}()
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": b.uid, "resourceVersion": strconv.FormatInt(revision, 10)},
		"status": map[string]any{"ready": now.Ready, "targets": now.Targets, "conditions": now.Conditions,
			"worst": orNull(now.Worst, len(now.Worst) == 0), "asOf": asOfPatch(now.AsOf)},
	})
	if err != nil {
		return fmt.Errorf("encode status of %s: %w", k, err)
	}
	_, err = p.cfg.API.Patch(ctx, k, v1alpha1.GroupVersion.String(), "status", patch)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write status of %s: %w", k, err)
	}
	return nil
}

func orNull(v any, null bool) any {
	if null {
		return nil
	}
	return v
}

// asOfPatch is the merge patch of an age: what is not there is taken out.
func asOfPatch(a *v1alpha1.StatusAge) any {
	if a == nil {
		return nil
	}
	return map[string]any{"oldest": a.Oldest, "p95": a.P95}
}

// same reports whether two statuses are equal in what this package writes.
func same(a, b v1alpha1.PlacementStatus) bool {
	return a.Ready == b.Ready && a.Targets == b.Targets && apiequality.Semantic.DeepEqual(a.Worst, b.Worst) &&
		apiequality.Semantic.DeepEqual(a.AsOf, b.AsOf) && apiequality.Semantic.DeepEqual(a.Conditions, b.Conditions)
}

// refresh makes the verdicts that may be others: of the targets that have reported, of new ones, and
// of all when the content is another.
func (p *Progress) refresh(b *book, content placement.Content, now time.Time) error {
	is := sum(content)
	p.mu.Lock()
	all, first := b.content != is, b.content == 0
	dirty := b.dirty
	b.dirty = nil
	var ask []string
	listed := make(map[string]struct{}, len(content.Targets))
	for _, t := range content.Targets {
		listed[t] = struct{}{}
		_, told := dirty[t]
		if all || told || b.verdicts[t] == nil {
			ask = append(ask, t)
		}
	}
	for t := range b.verdicts {
		if _, ok := listed[t]; !ok {
			delete(b.verdicts, t)
		}
	}
	stored := b.status.Worst
	p.mu.Unlock()
	for i, t := range ask {
		v, err := p.judge(t, content)
		if err != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			if b.dirty == nil {
				b.dirty = map[string]struct{}{}
			}
			for _, t := range ask[i:] {
				b.dirty[t] = struct{}{}
			}
			return err
		}
		p.mu.Lock()
		if v.worst.severity == fine {
			v = wellDone
		} else if v.worst.since = now; b.verdicts[t] != nil && b.verdicts[t].worst.same(v.worst) {
			v.worst.since = b.verdicts[t].worst.since
		} else if since, ok := storedSince(stored, t, v.worst); ok && first {
			v.worst.since = since
		}
		b.verdicts[t] = v
		p.mu.Unlock()
	}
	p.mu.Lock()
	b.content = is
	p.mu.Unlock()
	return nil
}

// storedSince is since when a problem is there by the status that another center has written.
func storedSince(stored []v1alpha1.TargetProblem, target string, is problem) (time.Time, bool) {
	for _, w := range stored {
		if w.Target == target && w.Object == is.object && w.Reason == is.reason {
			return w.Since.Time, true
		}
	}
	return time.Time{}, false
}

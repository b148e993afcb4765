package collect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/json"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/replicasetdiff"
)

// refresh evaluates the reports that may be others: at first all that there are. It returns false when
// its time is over before that is done.
func (c *Collect) refresh(ctx context.Context, col *collector) (done bool, err error) {
	end := time.Now().Add(slice)
	c.mu.Lock()
	dirty, first := col.dirty, !col.listed
	col.dirty = nil
	col.listed = true
	targets := slices.Sorted(maps.Keys(c.targets))
	c.mu.Unlock()
	if dirty == nil {
		dirty = map[source]struct{}{}
	}
	var failed error
	if first {
		for _, t := range targets {
			keys, err := c.cfg.Reports.Reported(t)
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("list the reports of %s: %w", t, err))
			}
			for _, k := range keys {
				if k.Space == col.key.Space && col.concerns(k) {
					dirty[source{t, k}] = struct{}{}
				}
			}
		}
	}
	done = true
	for s := range dirty {
		if time.Now().After(end) {
			done = false
			break
		}
		if err := c.refreshOne(ctx, col, s); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		delete(dirty, s)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if failed == nil && done {
		return true, nil
	}
	col.listed = !first || failed == nil
	if col.dirty == nil {
		col.dirty = map[source]struct{}{}
	}
	maps.Copy(col.dirty, dirty)
	return done || failed != nil, failed
}

func (c *Collect) refreshOne(ctx context.Context, col *collector, s source) error {
	now, err := c.evaluate(ctx, col.program, s)
	if err != nil {
		return err
	}
	space := col.key.Space
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bySpace[space][col.key] != col {
		return nil // it is another one meanwhile, or none
	}
	col.mu.Lock()
	defer col.mu.Unlock()
	before := len(col.contributions)
	switch _, had := col.contributions[s]; {
	case now == nil:
		delete(col.contributions, s)
	case !had && (before >= maxContributions || c.kept[space] >= maxOfSpace):
		col.full = true
	default:
		col.contributions[s] = now
	}
	c.kept[space] += len(col.contributions) - before
	return nil
}

// evaluate makes the contribution of a report, nil for one that does not count.
func (c *Collect) evaluate(ctx context.Context, p *program, s source) (*folded, error) {
	e, ok, err := c.cfg.Reports.Report(s.target, s.key)
	if err != nil || !ok {
		return nil, err
	}
	r, ok, err := placement.ReportOf(s.target, e)
	if err != nil || !ok {
		return nil, err
	}
	c.mu.Lock()
	target := c.targets[s.target]
	c.mu.Unlock()
	if target == nil || r.Event != nil {
		return nil, nil
	}
	obj, owner, err := c.object(ctx, p, s, r)
	if obj == nil || err != nil {
		return nil, err
	}
	if !p.selector.Matches(labels.Set(textsOf(fields.Map(obj, "metadata", "labels")))) {
		return nil, nil
	}
	is := p.evaluate(obj, target)
	if is == nil {
		return nil, nil
	}
	return &folded{is, owner}, nil
}

// object is what an expression sees of a report, and the placed object that it is of; nil for what is
// not in the scope, or of nothing that is placed. Whether that is placed at this target is seen when
// it is folded: it may change without a report.
func (c *Collect) object(ctx context.Context, p *program, s source, r store.Report) (map[string]any, store.Key, error) {
	obj, at := map[string]any{}, placement.Located{}
	var ok bool
	if r.Object != nil {
		if err := json.Unmarshal(r.Object, &obj); err != nil {
			return nil, at.Key, fmt.Errorf("decode %s of %s: %w", s.key, s.target, err)
		}
		at, ok = c.ownerOf(s.key, r, obj)
	} else if p.spec.Scope.OwnedBy == "" {
		at, ok = c.cfg.Delivery.Located(s.key)
	}
	if !ok || at.UID != r.OriginUID {
		return nil, at.Key, nil
	}
	if r.Object == nil {
		body, err := c.cfg.Delivery.Desired(ctx, s.key)
		if errors.Is(err, store.ErrGone) {
			return nil, at.Key, nil
		}
		if err != nil {
			return nil, at.Key, fmt.Errorf("read %s: %w", s.key, err)
		}
		var desired map[string]any
		if err := json.Unmarshal(body, &desired); err != nil {
			return nil, at.Key, fmt.Errorf("decode %s: %w", s.key, err)
		}
		obj["metadata"], obj["spec"] = desired["metadata"], desired["spec"]
	}
	meta := fields.Map(obj, "metadata")
	if meta == nil {
		meta = map[string]any{}
		obj["metadata"] = meta
	}
	meta["name"], meta["namespace"] = s.key.Name, s.key.Namespace
	for _, m := range []string{"labels", "annotations"} {
		if fields.Map(meta, m) == nil {
			meta[m] = map[string]any{}
		}
	}
	// It has the whole object, a Secret's data as well.
	delete(fields.Map(meta, "annotations"), corev1.LastAppliedConfigAnnotation)
	status := map[string]any{}
	if len(r.Status) > 0 {
		if err := json.Unmarshal(r.Status, &status); err != nil {
			return nil, at.Key, fmt.Errorf("decode status of %s from %s: %w", s.key, s.target, err)
		}
	}
	obj["status"] = status
	if fields.Map(obj, "spec") == nil {
		obj["spec"] = map[string]any{}
	}
	return obj, at.Key, nil
}

// ownerOf finds the placed object that a reported one belongs to.
func (c *Collect) ownerOf(k store.Key, r store.Report, obj map[string]any) (placement.Located, bool) {
	if r.Of != "" {
		if owner, ok := replicasetdiff.Owner(k); ok {
			return c.cfg.Delivery.Located(owner)
		}
		return placement.Located{}, false
	}
	for ref := range fields.Maps(obj, "metadata", "ownerReferences") {
		group, _, found := strings.Cut(fields.String(ref, "apiVersion"), "/")
		if !found {
			group = ""
		}
		at, ok := c.cfg.Delivery.Owner(k.Space, k.Namespace, group, fields.String(ref, "kind"), fields.String(ref, "name"))
		if ok && at.UID == r.OriginUID {
			return at, true
		}
	}
	return placement.Located{}, false
}

func textsOf(m map[string]any) map[string]string {
	out := map[string]string{}
	for k, v := range m {
		if text, ok := v.(string); ok {
			out[k] = text
		}
	}
	return out
}

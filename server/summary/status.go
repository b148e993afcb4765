package summary

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// shown is what is known of the status of one object in its space, as hashes.
type shown struct {
	// now is the status that the object has. asked is what was last asked for, and got what the API made of that: a schema may
	// take fields out.
	now, asked, got store.Hash
	revision        int64
}

// is tells whether the object shows a status already.
func (s shown) is(status store.Hash) bool {
	return status == s.now || status == s.asked && s.now == s.got
}

// condition is a condition that we add, with the time since when.
type condition struct {
	placement.Condition
	since time.Time
}

func (c condition) json() map[string]any {
	status := "False"
	if c.Status {
		status = "True"
	}
	return map[string]any{"type": c.Type, "status": status, "reason": c.Reason, "message": c.Message,
		"lastTransitionTime": c.since.UTC().Format(time.RFC3339)}
}

// SetCondition puts a condition of a decision on a placed object; one that is as it should be is taken off.
func (s *Summary) SetCondition(k store.Key, c placement.Condition) {
	quiet := c.Status || (c.Type == v1alpha1.ConditionObjectMoving && c.Reason == string(placement.Settled))
	if c.Type == v1alpha1.ConditionObjectMoving && c.Status {
		quiet = false
	}
	s.mu.Lock()
	s.setExtra(k, c, quiet)
	s.mu.Unlock()
	s.queue.Add(k)
}

func (s *Summary) setExtra(k store.Key, c placement.Condition, remove bool) {
	old, had := s.extra[k][c.Type]
	if remove {
		delete(s.extra[k], c.Type)
		if len(s.extra[k]) == 0 {
			delete(s.extra, k)
		}
		return
	}
	if s.extra[k] == nil {
		s.extra[k] = map[string]condition{}
	}
	n := condition{c, time.Now()}
	if had && old.Status == c.Status {
		n.since = old.since
	}
	s.extra[k][c.Type] = n
}

// report reads and decodes the last report of a key.
func (s *Summary) report(target string, k store.Key) (store.Report, bool, error) {
	var r store.Report
	e, ok, err := s.cfg.Report(target, k)
	if err != nil || !ok || e.Tombstone || len(e.Body) == 0 {
		return r, false, err
	}
	if err := json.Unmarshal(e.Body, &r); err != nil {
		return r, false, fmt.Errorf("decode report of %s from %s: %w", k, target, err)
	}
	return r, true, nil
}

// write brings one object of a space up to date with what is reported of it.
func (s *Summary) write(ctx context.Context, k store.Key) error {
	if isPod(k) {
		if err := s.mirror(ctx, k); err != nil {
			return err
		}
	}
	at, ok := s.cfg.Located(k)
	if !ok {
		s.forget(k)
		return nil
	}
	reports := make([]*store.Report, len(at.Targets))
	for i, t := range at.Targets {
		r, ok, err := s.report(t, k)
		if err != nil {
			return err
		}
		if ok && r.OriginUID == at.UID && r.Object == nil {
			reports[i] = &r
		}
	}
	s.noteRefusals(at, reports)
	if at.Class != placement.Placed {
		return nil
	}
	status, err := s.compose(at, reports)
	if err != nil || status == nil {
		return err
	}
	return s.show(ctx, k, at.APIVersion, at.UID, status)
}

// compose makes the status of an object from what its targets report, and adds our conditions. Nil means that there is nothing to say.
func (s *Summary) compose(at placement.Located, reports []*store.Report) (json.RawMessage, error) {
	s.mu.Lock()
	extra := make([]condition, 0, len(s.extra[at.Key]))
	for _, c := range s.extra[at.Key] {
		extra = append(extra, c)
	}
	_, written := s.shown[at.Key]
	s.mu.Unlock()
	sort.Slice(extra, func(i, j int) bool { return extra[i].Type < extra[j].Type })
	told, heard := false, false
	for _, r := range reports {
		heard = heard || r != nil
		told = told || r != nil && len(r.Status) > 0
	}
	withConditions := len(extra) > 0 && takesConditions(at.Key)
	switch {
	case !told && (!withConditions || written && !heard):
		return nil, nil // what is shown is the last that is known
	case len(reports) == 1 && told && !withConditions:
		return reports[0].Status, nil
	}
	merged, err := mergeAll(at.Key, reports)
	if err != nil {
		return nil, err
	}
	if withConditions {
		merged["conditions"] = add(merged["conditions"], extra)
	}
	return json.Marshal(merged)
}

func mergeAll(k store.Key, reports []*store.Report) (map[string]any, error) {
	var merged map[string]any
	for _, r := range reports {
		one := map[string]any{}
		if r != nil && len(r.Status) > 0 {
			if err := json.Unmarshal(r.Status, &one); err != nil {
				return nil, fmt.Errorf("decode status of %s: %w", k, err)
			}
		}
		if merged == nil {
			merged = one
		} else {
			merged = Merge(k, merged, one)
		}
	}
	if merged == nil {
		merged = map[string]any{}
	}
	return merged, nil
}

// add puts our conditions behind those of the targets.
func add(list any, extra []condition) []any {
	old, _ := list.([]any)
	out := append([]any(nil), old...)
	for _, c := range extra {
		out = append(out, c.json())
	}
	return out
}

// takesConditions tells whether a kind's status has conditions. Of kinds that are not known it is tried: the API takes out what
// the schema does not have.
func takesConditions(k store.Key) bool {
	if !placement.BuiltIn(k.Group) {
		return true
	}
	r, ok := typed[k.Group+"/"+k.Resource]["conditions"]
	return ok && r == worst
}

// noteRefusals says what targets refuse, as a condition and as an Event, and takes the condition off when they do not any more.
func (s *Summary) noteRefusals(at placement.Located, reports []*store.Report) {
	var lines []string
	var news []placement.Event
	reason := ""
	s.mu.Lock()
	defer s.mu.Unlock()
	now := map[string]string{}
	for i, r := range reports {
		if r == nil || r.Error == nil {
			continue
		}
		line := at.Targets[i] + ": " + r.Error.Message
		lines = append(lines, line)
		reason = r.Error.Reason
		now[at.Targets[i]] = line
		if s.refused[at.Key][at.Targets[i]] != line {
			news = append(news, placement.Event{Key: at.Key, APIVersion: at.APIVersion, Kind: at.Kind, UID: at.UID, Warning: true,
				Reason: r.Error.Reason, Message: line})
		}
	}
	if delete(s.refused, at.Key); len(now) > 0 {
		s.refused[at.Key] = now
	}
	s.setExtra(at.Key, placement.Condition{Type: v1alpha1.ConditionObjectSynced, Reason: reason, Message: first(lines, 3)}, len(lines) == 0)
	for _, e := range news {
		s.events.say(e)
	}
}

func first(lines []string, n int) string {
	if len(lines) > n {
		return strings.Join(lines[:n], "; ") + fmt.Sprintf("; and %d more", len(lines)-n)
	}
	return strings.Join(lines, "; ")
}

// Failed is how many objects a target refuses.
func (s *Summary) Failed(target string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, by := range s.refused {
		if _, ok := by[target]; ok {
			n++
		}
	}
	return n
}

// show writes a status when the object does not show it already. What the API will not take is not tried again before it changes.
func (s *Summary) show(ctx context.Context, k store.Key, apiVersion, uid string, status json.RawMessage) error {
	want := canonical(status)
	s.mu.Lock()
	before := s.shown[k]
	s.mu.Unlock()
	if before.is(want) || len(status) == 0 || (before == shown{} && want == emptyStatus()) {
		return nil
	}
	patch, err := json.Marshal([]any{
		map[string]any{"op": "test", "path": "/metadata/uid", "value": uid},
		map[string]any{"op": "add", "path": "/status", "value": status},
	})
	if err != nil {
		return fmt.Errorf("encode status of %s: %w", k, err)
	}
	obj, err := s.cfg.API.Patch(ctx, k, apiVersion, "status", patch)
	switch {
	case apierrors.IsNotFound(err):
		return nil // deleted meanwhile, or a kind without a status of its own
	case apierrors.IsInvalid(err):
		s.cfg.Log.Warn("space does not take a reported status", "key", k.String(), "err", err)
		s.learn(k, func(n *shown) { n.asked, n.got = want, n.now })
		return nil
	case err != nil:
		return fmt.Errorf("write status of %s: %w", k, err)
	}
	got, revision := statusOf(obj), revisionOf(obj)
	s.learn(k, func(n *shown) {
		if n.asked, n.got = want, got; revision >= n.revision {
			n.now, n.revision = got, revision
		}
	})
	return nil
}

func (s *Summary) learn(k store.Key, change func(*shown)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.shown[k]
	change(&n)
	s.shown[k] = n
}

// canonical is the hash of a status, whatever the order and the notation of its fields.
func canonical(status json.RawMessage) store.Hash {
	var v any
	if json.Unmarshal(status, &v) != nil {
		return store.Hash{}
	}
	return hashOf(v)
}

func hashOf(v any) store.Hash {
	sum := sha256.Sum256(encode(v))
	var h store.Hash
	copy(h[:], sum[:])
	return h
}

func emptyStatus() store.Hash { return hashOf(map[string]any{}) }

func statusOf(obj map[string]any) store.Hash {
	status, _ := obj["status"].(map[string]any)
	if status == nil {
		status = map[string]any{}
	}
	return hashOf(status)
}

func revisionOf(obj map[string]any) int64 {
	meta, _ := obj["metadata"].(map[string]any)
	v, _ := meta["resourceVersion"].(string)
	n, _ := strconv.ParseInt(v, 10, 64)
	return n
}

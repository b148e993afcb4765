package summary

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// shown is what is known of the status of one object in its space, as hashes.
type shown struct {
	// now is the status that the object has. asked is what was last asked for, and got what the API
	// made of that: a schema may take fields out.
	now, asked, got store.Hash
	by              *[]string // the targets whose status it is, nil where nobody knows, see outlived
	filled          uint64    // the filledSum of what it shows of that
	revision        int64
	theirs          bool // see foreignStatus
	outage          bool // it has the condition skerry.dev/Reachable
}

// is reports whether the object shows a status already.
func (s shown) is(status store.Hash) bool {
	return status == s.now || status == s.asked && s.now == s.got
}

// report reads and decodes the last report of a key.
func (s *Summary) report(target string, k store.Key) (store.Report, bool, error) {
	e, ok, err := s.cfg.Reports.Report(target, k)
	if err != nil || !ok {
		return store.Report{}, false, err
	}
	return placement.ReportOf(target, e)
}

// write brings one object of a space up to date with what is reported of it.
func (s *Summary) write(ctx context.Context, k store.Key) error {
	if isEvent(k) {
		return s.publishEvent(ctx, k)
	}
	if isMirrored(k) {
		if err := s.mirror(ctx, k); err != nil {
			return err
		}
	}
	if err := s.tellStuck(k); err != nil {
		return err
	}
	at, ok := s.cfg.Delivery.Located(k)
	if !ok {
		if ends, err := s.end(ctx, k); ends {
			return err
		}
		s.pacing.forget(k)
		s.last.forget(k)
		s.forget(k)
		if err := s.clearStatus(ctx, k); err != nil {
			return err
		}
		if err := s.conditionOfDefinition(ctx, placement.Located{Key: k}, ""); err != nil {
			return err
		}
		return s.annotate(ctx, k, annotations{})
	}
	if rest := s.pacing.wait(k, len(at.Targets)); rest > 0 {
		s.queue.AddAfter(k, rest)
		return nil
	}
	began := time.Now()
	reports, err := s.reports(at)
	if err != nil {
		return err
	}
	if ended, err := (takeover{s.cfg.API, s.cfg.Delivery}).end(ctx, at, reports); ended {
		return err
	}
	took := time.Since(began)
	theirs, revision, err := s.foreignStatus(ctx, at)
	if err != nil {
		return err
	}
	says := annotations{refused: s.refusalCondition(at, reports), unreachable: s.outageCondition(at),
		altered: s.alteredCondition(at, reports)}
	if takesConditions(k) && !theirs {
		says = annotations{} // conditions say it
	}
	if err := s.conditionOfDefinition(ctx, at, says.refused); err != nil {
		return err
	}
	if err := s.annotate(ctx, k, says); err != nil {
		return err
	}
	if theirs || !placement.Told(k.Group, k.Resource) {
		s.pacing.took(len(at.Targets), took)
		return nil
	}
	began = time.Now()
	status, err := s.compose(at, reports)
	if err != nil {
		return err
	}
	s.pacing.took(len(at.Targets), took+time.Since(began))
	filled := filledBy(k, reports)
	if err := s.writeStatusSince(ctx, at, "status", status, filled, revision); err != nil {
		return err
	}
	if status != nil {
		s.tells(at)
	}
	if err := s.fill(ctx, at, filled); err != nil {
		return err
	}
	return s.scale(ctx, at, reports)
}

// writeStatus is writeStatusSince the last revision that is known.
func (s *Summary) writeStatus(
	ctx context.Context,
	at placement.Located,
	subresource string,
	status json.RawMessage,
	filled *store.Filled,
) error {
	return s.writeStatusSince(ctx, at, subresource, status, filled, 0)
}

// writeStatusSince writes a status when the object does not show it already, with what is filled in
// beside it where that can go along. What the API will not take is not tried again before it
// changes. Where others may tell the status, it is a conflict that the object has changed since a
// revision; 0 is the last that is known.
func (s *Summary) writeStatusSince(
	ctx context.Context,
	at placement.Located,
	subresource string,
	status json.RawMessage,
	filled *store.Filled,
	since int64,
) error {
	k, apiVersion, uid := at.Key, at.APIVersion, at.UID
	defer s.begin(k)()
	want := canonical(status)
	s.mu.Lock()
	before := s.shown[k]
	s.mu.Unlock()
	if before.is(want) || len(status) == 0 || (before == shown{} && want == emptyStatus()) {
		return nil
	}
	ops := []any{
		map[string]any{"op": "test", "path": "/metadata/uid", "value": uid},
		map[string]any{"op": "add", "path": "/status", "value": status},
	}
	along := revisionOp(k, before, filled)
	if along != nil {
		ops = append(ops, along)
	}
	if othersMayTell(k) {
		revision, theirs, err := s.unchanged(ctx, at, cmp.Or(since, before.revision))
		switch {
		case apierrors.IsNotFound(err):
			return s.unserved(ctx, k, apiVersion, uid, err)
		case err != nil:
			return fmt.Errorf("read %s before its status is written: %w", k, err)
		case theirs:
			return nil
		}
		ops = append(
			ops,
			map[string]any{"op": "add", "path": "/metadata/resourceVersion", "value": strconv.FormatInt(revision, 10)},
		)
	}
	patch, err := json.Marshal(ops)
	if err != nil {
		return fmt.Errorf("encode status of %s: %w", k, err)
	}
	// gofail: var beforeStatusWrite struct{}
	obj, err := s.cfg.API.Patch(ctx, k, apiVersion, subresource, patch)
	switch {
	case apierrors.IsNotFound(err):
		return s.unserved(ctx, k, apiVersion, uid, err)
	case apierrors.IsInvalid(err) && along != nil: // it has no annotations yet, perhaps
		if err := s.fill(ctx, at, filled); err != nil {
			return err
		}
		return s.writeStatusSince(ctx, at, subresource, status, nil, 0) // filling it in has changed the object
	case apierrors.IsInvalid(err):
		s.cfg.Log.Warn("space does not take a reported status", "key", k.String(), "err", err)
		s.update(k, func(n *shown) { n.asked, n.got = want, n.now })
		return nil
	case err != nil:
		return fmt.Errorf("write status of %s: %w", k, err)
	}
	if !isMirrored(k) {
		s.pacing.wrote(k)
	}
	got, revision := statusOf(obj), revisionOf(obj)
	s.update(k, func(n *shown) {
		if n.asked, n.got = want, got; revision >= n.revision {
			n.now, n.revision, n.outage = got, revision, saysUnreachable(obj)
		}
		n.observeFilledLocked(k, obj, true)
	})
	return nil
}

// unserved tells why a status could not be written: the object was deleted meanwhile, or its kind
// has no status of its own, and there is nothing to do; or its kind is not served for the moment,
// and the status is written later.
func (s *Summary) unserved(ctx context.Context, k store.Key, apiVersion, uid string, cause error) error {
	if at, ok := s.cfg.Delivery.Located(k); !ok || at.UID != uid {
		return nil
	}
	if _, err := s.cfg.API.Get(ctx, k, apiVersion); err == nil {
		return nil
	}
	return fmt.Errorf("write status of %s: %w", k, cause)
}

// update takes over what the answer to a request says of an object, unless it was deleted
// meanwhile.
func (s *Summary) update(k store.Key, change func(*shown)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.overtakenLocked(k) {
		return
	}
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
	status := fields.Map(obj, "status")
	if status == nil {
		status = map[string]any{}
	}
	return hashOf(status)
}

func revisionOf(obj map[string]any) int64 {
	meta := fields.Map(obj, "metadata")
	v := fields.String(meta, "resourceVersion")
	n, _ := strconv.ParseInt(v, 10, 64)
	return n
}

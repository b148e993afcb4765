package observe

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/clip"
	"skerry.dev/skerry/tunnel/upsync"
)

// What is born at the target and an Upsync selects is reported to its space. A watch of metadata
// alone says what there is; an object is read when it is selected and there is room for it. See
// package upsync.

// upsyncs are the Upsyncs and what they select.
type upsyncs struct {
	rules map[store.Key]*upsyncRule
	// namespaces are those that the target has made for spaces, by their names there.
	namespaces map[namespaceThere]store.Key
	born       map[string]*born         // by UID
	unwatched  map[watchKey]upsync.Left // kinds that cannot be watched
	unlisted   map[watchKey]bool        // whose present watch has not listed all yet
}

func newUpsyncs() upsyncs {
	return upsyncs{
		rules: map[store.Key]*upsyncRule{}, namespaces: map[namespaceThere]store.Key{}, born: map[string]*born{},
		unwatched: map[watchKey]upsync.Left{}, unlisted: map[watchKey]bool{},
	}
}

// namespaceThere is a namespace of the target.
type namespaceThere struct{ view, name string }

// upsyncRule is an Upsync.
type upsyncRule struct {
	key        store.Key
	parsed     *upsync.Rule // nil while it is not understood
	invalid    *store.ReportError
	hash       store.Hash
	generation int64
	watches    []watchKey
	objects    int // that are brought, or are about to be
	bytes      int
	more       int             // that are left out and not remembered
	below      json.RawMessage // what a relay's own targets say
}

// SetUpsync takes over an Upsync of the desired copy, or that there is none any more.
func (o *Observer) SetUpsync(k store.Key, e store.Entry, ok bool) {
	var next *upsyncRule
	if ok && !e.Tombstone && !e.UnknownBody {
		next = &upsyncRule{key: k, hash: e.Hash, generation: e.Generation}
		rule, problems := upsync.Parse(e.Body)
		if next.parsed = rule; len(problems) > 0 {
			next.invalid = &store.ReportError{Reason: "Invalid", Message: problems[0].Error()}
			o.Log.Warn("an Upsync is not understood and brings nothing", "key", k, "why", problems[0].Error())
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	was := o.upsyncs.rules[k]
	if was != nil && next != nil && was.hash == next.hash && was.generation == next.generation {
		return
	}
	if was != nil {
		o.unfollowUpsyncLocked(was)
		delete(o.upsyncs.rules, k)
		if next != nil {
			next.below, next.objects, next.bytes = was.below, was.objects, was.bytes
		}
	}
	if next != nil {
		o.upsyncs.rules[k] = next
		o.followUpsyncLocked(next)
	}
	o.reselectLocked(k.Space)
	switch {
	case next != nil:
		o.tellUpsyncLocked(next)
	case !o.Clients.Relays():
		o.dropLocked(k)
	}
}

// RecheckUpsyncs looks again at what the target allows spaces to bring.
func (o *Observer) RecheckUpsyncs() {
	o.mu.Lock()
	defer o.mu.Unlock()
	spaces := map[string]bool{}
	for k, rule := range o.upsyncs.rules {
		o.unfollowUpsyncLocked(rule)
		o.followUpsyncLocked(rule)
		spaces[k.Space] = true
	}
	for space := range spaces {
		o.reselectLocked(space)
	}
	for _, rule := range o.upsyncs.rules {
		o.tellUpsyncLocked(rule)
	}
}

// followUpsyncLocked watches the kinds of a rule.
func (o *Observer) followUpsyncLocked(rule *upsyncRule) {
	if rule.parsed == nil || o.start == nil || o.forbidsUpsync(rule.key.Space) != nil {
		return
	}
	for _, c := range rule.parsed.Clauses {
		for _, plural := range c.Resources {
			w, ok := o.watchKeyOf(rule.key, resource{c.Group(), plural})
			if w.born = true; !ok || slices.Contains(rule.watches, w) {
				continue
			}
			rule.watches = append(rule.watches, w)
			o.countLocked(w, rule.key, c.Version(), true)
			o.upsyncs.unlisted[w] = true
		}
	}
}

func (o *Observer) unfollowUpsyncLocked(rule *upsyncRule) {
	for _, w := range rule.watches {
		o.discountLocked(w)
		if o.counts[w] == 0 {
			delete(o.upsyncs.unwatched, w)
			delete(o.upsyncs.unlisted, w)
		}
	}
	rule.watches = nil
}

// forbidsUpsync is why a space may bring nothing from here, nil where it may.
func (o *Observer) forbidsUpsync(space string) error {
	if o.MayUpsync == nil {
		return nil
	}
	return o.MayUpsync(space)
}

// reselectLocked lists what the rules of a space may select anew, and drops what they do not select
// any more.
func (o *Observer) reselectLocked(space string) {
	for uid, b := range o.upsyncs.born {
		if b.rule.Space != space {
			continue
		}
		rule := o.upsyncs.rules[b.rule]
		if rule == nil || !slices.Contains(rule.watches, b.at.watch) {
			o.unbearLocked(uid)
			continue
		}
		b.revision = 0 // looked at again, in the list
	}
	for k, rule := range o.upsyncs.rules {
		if k.Space == space {
			rule.more = 0
			for _, w := range rule.watches {
				o.relistLocked(w)
			}
		}
	}
}

// relistLocked has a watch begin anew with a list.
func (o *Observer) relistLocked(key watchKey) {
	w := o.watchers[key]
	if w == nil || o.start == nil {
		return
	}
	w.stop()
	next := &watcher{o: o, key: key, client: w.client, listing: w.listing, nudged: make(chan struct{}, 1)}
	if o.watchers[key] = next; key.born {
		o.upsyncs.unlisted[key] = true
	}
	if !o.complete() {
		o.initial[key] = true
	}
	o.start(next)
}

// UpsyncsListed reports whether all that Upsyncs select was looked at.
func (o *Observer) UpsyncsListed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.upsyncs.unlisted) == 0 && !o.fetch.busy()
}

// namespaceSeenLocked takes over what the target says of a Namespace that it has for a space. One that
// was there before the space has what is the site's own.
func (o *Observer) namespaceSeenLocked(k store.Key, live *target.Object) {
	w, ok := o.watchKeyOf(k, resource{k.Group, k.Resource})
	if !ok {
		return
	}
	there := namespaceThere{w.view, live.Metadata.Name}
	made := o.Clients.Relays() || live.Metadata.Annotations[target.AnnotationExisted] == ""
	was, had := o.upsyncs.namespaces[there]
	if made == had && was == k || !made && !had {
		return
	}
	if made {
		o.upsyncs.namespaces[there] = k
	} else {
		delete(o.upsyncs.namespaces, there)
	}
	o.reselectLocked(k.Space)
}

// namespaceGoneLocked drops what came from a Namespace that the space has no more.
func (o *Observer) namespaceGoneLocked(k store.Key) {
	for there, known := range o.upsyncs.namespaces {
		if known == k {
			delete(o.upsyncs.namespaces, there)
			o.reselectLocked(k.Space)
		}
	}
}

// listed records that a kind which rules name was listed, or why it cannot be.
func (o *Observer) listed(w watchKey, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, was := o.upsyncs.unwatched[w]
	if err == nil && !was {
		return
	}
	if delete(o.upsyncs.unwatched, w); err != nil {
		o.upsyncs.unwatched[w] = upsync.Left{
			Object: w.resource.plural, Reason: upsync.ReasonNotServed,
			Message: unreadable(err),
		}
	}
	for _, rule := range o.upsyncs.rules {
		if slices.Contains(rule.watches, w) {
			o.tellUpsyncLocked(rule)
		}
	}
}

// unreadable says why a kind cannot be listed, and what to do.
func unreadable(err error) string {
	why := "it cannot be listed: "
	switch {
	case errors.Is(err, target.ErrNotServed):
		why = "the target's cluster does not serve it; install its definition there, or take the clause out of spec.upsync: "
	case apierrors.IsForbidden(err):
		why = "the agent may not read it; give its identity list and watch on it at the target, see skerry agent rbac: "
	}
	return why + clip.Dotted(err.Error(), maxUpsyncMessage)
}

// tellUpsyncLocked reports what became of a rule.
func (o *Observer) tellUpsyncLocked(rule *upsyncRule) {
	rec := o.recordLocked(rule.key)
	status := o.upsyncStatusLocked(rule)
	if old, err := o.codec.Decode(nil, rec.status, maxReported); rec.status == nil || err != nil ||
		!bytes.Equal(old, status) {
		rec.status, rec.at = o.codec.Encode(nil, status), time.Now().UnixMilli()
	}
	if !o.Clients.Relays() { // there it is an object, and its record is that of the object
		rec.hash, rec.generation, rec.failure = rule.hash, rule.generation, failureOf(rule.invalid)
		if rule.parsed != nil {
			rec.originUID = rule.parsed.UID
		}
		if err := o.forbidsUpsync(rule.key.Space); err != nil && rule.invalid == nil {
			rec.failure = failureOf(&store.ReportError{Reason: upsync.ReasonNotAllowed, Message: err.Error()})
		}
	}
	o.holdLocked(rule.key)
	o.publishLocked(rule.key)
}

// upsyncStatusLocked is what is reported of a rule: what is left out here, and at a relay what its
// own targets say.
func (o *Observer) upsyncStatusLocked(rule *upsyncRule) []byte {
	status := upsync.Status{Objects: rule.objects, LeftOut: rule.more}
	for _, b := range o.upsyncs.born {
		if b.rule == rule.key && b.left != nil {
			status.LeftOut++
			status.Problems = append(status.Problems, *b.left)
		}
	}
	for _, w := range rule.watches {
		if left, ok := o.upsyncs.unwatched[w]; ok {
			status.Problems = append(status.Problems, left)
		}
	}
	var below upsync.Status
	if len(rule.below) > 0 && json.Unmarshal(rule.below, &below) == nil {
		status.LeftOut += below.LeftOut
		status.Problems = append(status.Problems, below.Problems...)
	}
	status.Problems = upsync.Bounded(status.Problems)
	out, err := json.Marshal(status)
	if err != nil {
		return nil // texts and numbers can be encoded
	}
	return out
}

// belowLocked takes over what a relay's own targets say of an Upsync.
func (o *Observer) belowLocked(k store.Key, live *target.Object) {
	rule := o.upsyncs.rules[k]
	if rule == nil {
		return
	}
	rule.below = slices.Clone(live.Status)
	if rec := o.records.Get(k); rec != nil {
		rec.status = o.codec.Encode(nil, o.upsyncStatusLocked(rule))
	}
}

// maxUpsyncMessage bounds what is said about one object, in bytes.
const maxUpsyncMessage = 512

package variants

import (
	"encoding/json"
	"errors"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/variant"
)

// Variant is what the target gets of an object.
type Variant struct {
	Body []byte
	// Hash is zero where no Customizer has changed it.
	Hash store.Hash
	// By are the Customizers that have.
	By []string
}

// Touches reports whether a Customizer may select an object of this key.
func (r *Rules) Touches(k store.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	sp := r.spaces[k.Space]
	return sp != nil && (sp.stale || sp.unknown || sp.set.Touches(k))
}

// Waiting returns the first Customizer that may select an object and for which done is false.
func (r *Rules) Waiting(k store.Key, done func(rule store.Key, hash store.Hash) bool) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sp := r.spaces[k.Space]
	if sp == nil || k.Class() == store.ClassRule {
		return "", nil
	}
	if err := r.freshLocked(); err != nil {
		return "", err
	}
	for rule, c := range sp.rules {
		if c.read != nil && variant.NewSet(c.read).Touches(k) && !done(rule, c.hash) {
			return rule.Name, nil
		}
	}
	return "", nil
}

// Render makes the variant of an object. A *variant.Error says which Customizer fails; ErrUnknown
// that it has to wait.
func (r *Rules) Render(k store.Key, body []byte) (Variant, error) {
	base := Variant{Body: body}
	r.mu.Lock()
	sp := r.spaces[k.Space]
	if sp == nil || k.Class() == store.ClassRule {
		r.mu.Unlock()
		return base, nil
	}
	if err := r.freshLocked(); err != nil {
		r.mu.Unlock()
		return base, err
	}
	set, values, told, unknown := sp.set, r.values, r.told, sp.unknown
	r.mu.Unlock()
	switch {
	case unknown && variant.Customizable(k.Group, k.Resource):
		return base, ErrUnknown
	case !set.Touches(k):
		return base, nil
	case !told:
		return base, ErrUnknown
	}
	out, err := set.Render(variant.Object{
		Key: k, Body: body,
		NamespaceLabels: func() map[string]string { return r.labelsOf(k.Space, k.Namespace) },
	}, values)
	r.record(sp, k, out.Matched, err)
	if err != nil {
		return base, err
	}
	if len(out.By) == 0 {
		return base, nil
	}
	return Variant{Body: out.Body, Hash: store.HashBody(0, out.Body), By: out.By}, nil
}

// labelsOf are the labels of a space's Namespace, as the copy has it.
func (r *Rules) labelsOf(space, name string) map[string]string {
	e, ok, err := r.cfg.Desired.Get(store.Key{Space: space, Resource: "namespaces", Name: name})
	if err != nil || !ok || e.Tombstone || e.UnknownBody {
		return nil
	}
	var o struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	}
	if json.Unmarshal(e.Body, &o) != nil {
		return nil
	}
	return o.Metadata.Labels
}

// record notes what was matched, and a failure.
func (r *Rules) record(sp *space, k store.Key, matched []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := sp.objects[k]
	if o == nil {
		o = &outcome{pending: true}
		sp.objects[k] = o
	}
	o.matched = matched
	var failed *variant.Error
	switch {
	case errors.As(err, &failed):
		o.failed = &failure{failed.Customizer, failed.Reason(), failed.Error(), false}
	case o.failed != nil && !o.failed.atTarget: // what the target refused it may refuse again
		o.failed = nil
	}
	sp.changed = true
	r.signal()
}

// Done notes that an object is as it is to be, or that it stays as it was because of the variant by
// these Customizers: why is nil, or what the target says.
func (r *Rules) Done(k store.Key, by []string, why *store.ReportError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sp := r.spaces[k.Space]
	if sp == nil {
		return
	}
	o := sp.objects[k]
	if o == nil {
		return
	}
	refused := o.failed != nil && o.failed.atTarget
	switch {
	case why == nil && refused:
		o.failed = nil
	case why == nil && !o.pending:
		return
	case why != nil && len(by) > 0 && (o.failed == nil || refused):
		o.failed = &failure{by[len(by)-1], why.Reason, why.Message, true}
	}
	o.pending, sp.changed = false, true
	if !sp.set.Touches(k) && !sp.unknown {
		delete(sp.objects, k) // it is back to its base
	}
	r.signal()
}

// Forget drops an object that is no longer desired.
func (r *Rules) Forget(k store.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if sp := r.spaces[k.Space]; sp != nil && sp.objects[k] != nil {
		delete(sp.objects, k)
		sp.changed = true
		r.signal()
	}
}

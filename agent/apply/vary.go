package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/agent/variants"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/variant"
)

// ruleWait is how long an object waits for a rule that is missing, when nothing wakes it before.
const ruleWait = time.Second

// isRule reports whether an entry is a rule here and no object of the target. A relay has the
// Customizers and the Upsyncs of its parent as objects.
func (a *Applier) isRule(k store.Key) bool {
	return k == store.ValuesKey || (k.IsCustomizer() || k.IsUpsync()) && !a.Relay
}

// rule takes over a rule that has changed, and tries what it may concern again. A removed one is
// done with when that is queued: the inventory knows the objects that are still to change.
func (a *Applier) rule(ctx context.Context, k store.Key, e store.Entry, known bool) error {
	if !a.Relay && k.Renders() {
		affected, err := a.Variants.Refresh(k)
		if err != nil {
			return err
		}
		for _, k := range affected {
			a.queue.add(k, false)
		}
	}
	if known && e.Tombstone {
		a.finished.add(ctx, e)
	}
	return nil
}

// ruleError is returned for an object that waits for a Customizer which the target, a relay, does
// not have yet: its children would get the object without it.
type ruleError struct{ customizer string }

func (r *ruleError) Error() string {
	return "it waits for Customizer " + r.customizer + ", which this relay does not have yet"
}

// vary renders what the target gets: its share of divided replicas, also at a relay, and what
// Customizers make of that. While the copy may lack rules, no variant of theirs is taken back.
func (a *Applier) vary(e store.Entry, r inventory.Record) (variants.Variant, error) {
	base, err := a.share(e)
	if err != nil {
		return base, err
	}
	if a.Relay {
		return base, a.awaitRules(e, r)
	}
	v, err := a.Variants.Render(e.Key, base.Body)
	if len(v.By) == 0 {
		v.Hash = base.Hash
	}
	switch {
	case errors.Is(err, variants.ErrUnknown):
		return base, &laterError{ruleWait}
	case err != nil:
		a.Variants.Done(e.Key, nil, nil)
		t := &task{Entry: e}
		if decodeErr := t.decode(); decodeErr != nil {
			return base, errors.Join(err, decodeErr)
		}
		return base, &withOrigin{t.head.OriginUID(), t.mapping, err}
	case len(v.By) == 0 && r.Variant != v.Hash && r.Variant != (store.Hash{}) && a.Whole != nil && !a.Whole():
		return base, &laterError{ruleWait}
	}
	return v, nil
}

// share gives this target its share of the replicas, where they are divided.
func (a *Applier) share(e store.Entry) (variants.Variant, error) {
	names := a.Self()
	body, divided, err := variant.Share(e.Body, names...)
	switch {
	case err != nil:
		return variants.Variant{Body: e.Body}, fmt.Errorf("read how replicas are divided: %w", err)
	case divided && len(names) == 0:
		return variants.Variant{Body: e.Body}, &laterError{ruleWait}
	case !divided:
		return variants.Variant{Body: e.Body}, nil
	}
	return variants.Variant{Body: body, Hash: store.HashBody(0, body)}, nil
}

// awaitRules has an object of a relay wait for the Customizers that may change it below.
func (a *Applier) awaitRules(e store.Entry, r inventory.Record) error {
	if r.Applied == e.Hash {
		return nil
	}
	name, err := a.Variants.Waiting(e.Key, func(rule store.Key, hash store.Hash) bool {
		has, known := a.Inventory.Get(rule)
		return known && has.Applied == hash
	})
	if err != nil || name == "" {
		return err
	}
	return &ruleError{name}
}

// refusedVariant reports a refusal with the Customizers that made what the target refuses.
func (a *Applier) refusedVariant(k store.Key, err error, f failure) {
	var varied *variedError
	if f.refused && errors.As(err, &varied) && !slices.Contains(othersRefuse, f.report.Reason) {
		a.Variants.Done(k, varied.by, &f.report)
	}
}

// othersRefuse are refusals that are not about what is in an object.
var othersRefuse = []string{"AlreadyExists", "Conflict", "NotEmpty", "QuotaExceeded", "Unauthorized"}

// variedError adds who made the variant to what the target says of it.
type variedError struct {
	by  []string
	err error
}

func (v *variedError) Error() string {
	return v.err.Error() + v.words()
}

func (v *variedError) words() string {
	return " (as changed by Customizer " + strings.Join(v.by, ", ") + ")"
}

func (v *variedError) Unwrap() error { return v.err }

// reshape changes the body of a variant where change reports that it does.
func reshape(e store.Entry, v *variants.Variant, change func(o map[string]any) (bool, error)) error {
	o, err := target.Whole(v.Body)
	if err != nil {
		return fmt.Errorf("decode %s: %w", e.Key, err)
	}
	if changes, err := change(o); err != nil || !changes {
		return err
	}
	if v.Body, err = json.Marshal(o); err != nil {
		return fmt.Errorf("encode %s: %w", e.Key, err)
	}
	v.Hash = store.HashBody(e.Generation, v.Body)
	return nil
}

package apply

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// adoptDefinition decides about a definition that exists and was not applied for this space.
func (a *Applier) adoptDefinition(ctx context.Context, t *task, found *target.Object, whole map[string]any) error {
	if err := a.Gate.Shares(ctx, t.atGate(), found, whole); err != nil {
		var refused *policy.Refusal
		if space := found.OriginSpace(); space != "" && errors.As(err, &refused) {
			a.queue.kick(func(k store.Key) bool { return k.Name == t.Key.Name && k.Space == space }) // it may wait for this one
		}
		return err
	}
	return a.written(ctx, t, found, false)
}

// bequeath lets a definition go on as that of another space, which applies its own, equal one over
// it.
func (a *Applier) bequeath(heir store.Key) {
	a.Inventory.Update(heir, func(r inventory.Record) (inventory.Record, bool) {
		r.Created, r.Applied = true, store.Hash{}
		return r, true
	})
	a.queue.add(heir, false)
}

// checkDefinition checks that a definition that is not applied for this space is still there, and
// still equal.
func (a *Applier) checkDefinition(ctx context.Context, t *task) error {
	found, whole, err := t.read(ctx)
	switch {
	case err != nil:
		return err
	case found == nil, found.Metadata.UID != t.record.UID:
		return a.lose(t, errors.New("the definition is gone from the target, or is another one"))
	}
	if err := a.adoptDefinition(ctx, t, found, whole); err != nil {
		var refused *policy.Refusal
		if errors.As(err, &refused) {
			a.Inventory.Delete(t.Key)
		}
		return err
	}
	return nil
}

// sharers queues the spaces that share a definition that was written.
func (a *Applier) sharers(k store.Key) { a.Rewound(a.Gate.Definitions().Sharing(k)) }

func isNotThere(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

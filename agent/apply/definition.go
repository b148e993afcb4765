package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// permitDefinition returns why a CustomResourceDefinition is not applied.
func (a *Applier) permitDefinition(ctx context.Context, t *task, p *policy.Policy) error {
	plural, group, _ := strings.Cut(t.Key.Name, ".")
	annotations := t.head.Metadata.Annotations
	if err := errors.Join(
		p.Kind(t.Key.Group, t.Key.Resource, false), p.DefinitionOf(group, plural), p.Conversion(t.Body),
	); err != nil {
		return err
	}
	if err := a.keptDefinition(ctx, t, p, group); err != nil {
		return err
	}
	if err := p.Definition(group, annotations, false); err != nil || p.Definition(group, annotations, true) == nil {
		return err // whoever serves the group
	}
	versions, err := t.client.Versions(ctx, group)
	if err != nil && !isNotServed(err) {
		return err
	}
	return p.Definition(group, annotations, len(versions) > 0 && !a.Gate.Definitions().DefineGroup(group))
}

// keptDefinition refuses a definition in a group that the site keeps for other spaces, unless it
// shares one that is there. Where the site keeps the group for nobody, it refuses to change a definition that
// other spaces share and want otherwise: their objects would change with it.
func (a *Applier) keptDefinition(ctx context.Context, t *task, p *policy.Policy, group string) error {
	mine, kept := p.KeepsDefinitions(t.Key.Space, group)
	switch {
	case kept && (t.record.UID == "" || t.record.Created):
		found, err := a.find(ctx, t.client, t.resource, t.at, false)
		if err != nil || found != nil && found.OriginSpace() != t.Key.Space {
			return err
		}
		return &policy.Refusal{Reason: policy.ReasonDefinition, Message: fmt.Sprintf("the site keeps definitions in the "+
			"API group %q for another space (allow.definitions in the agent's configuration); ask its admin, or place "+
			"the space elsewhere", group)}
	case mine || !t.record.Created || t.record.UID == "":
		return nil
	}
	for _, k := range a.Gate.Definitions().Sharing(t.Key) {
		e, ok, err := a.Desired.Get(k)
		if err != nil {
			return fmt.Errorf("read the definition of a space that shares it: %w", err)
		}
		if ok && !e.Tombstone && !equalSpecs(e.Body, t.Body) {
			return &policy.Refusal{Reason: policy.ReasonDefinition, Message: fmt.Sprintf("space %q shares definition %s at "+
				"this site and has another version of it; it is changed when both are equal, or when the site keeps the "+
				"group for space %q (allow.definitions: [%s=%s])", k.Space, t.Key.Name, t.Key.Space, t.Key.Space, group)}
		}
	}
	return nil
}

// equalSpecs reports whether two definitions, as JSON, say the same.
func equalSpecs(a, b []byte) bool {
	var one, other struct {
		Spec any `json:"spec"`
	}
	return json.Unmarshal(a, &one) == nil && json.Unmarshal(b, &other) == nil && reflect.DeepEqual(one.Spec, other.Spec)
}

// adoptDefinition decides about a definition that exists and was not applied for this space. An
// equal one of another space is shared. One of the site is used where the site allows its objects.
func (a *Applier) adoptDefinition(ctx context.Context, t *task, found *target.Object, whole map[string]any) error {
	if space := found.OriginSpace(); space != "" {
		would, err := t.client.Would(ctx, t.resource, "", t.Key.Name, t.Body, found.Metadata.UID)
		if err != nil {
			return fmt.Errorf("compare with the definition that is there: %w", err)
		}
		if !reflect.DeepEqual(would["spec"], whole["spec"]) {
			a.queue.kick(func(k store.Key) bool { return k.Name == t.Key.Name && k.Space == space }) // it may wait for this one
			return &policy.Refusal{
				Reason: policy.ReasonDefinition,
				Message: fmt.Sprintf("space %q and space %q have different definitions named %s, and the site "+
					"can have one; make them equal, or place one of the spaces elsewhere", t.Key.Space, space, t.Key.Name),
			}
		}
		return a.written(ctx, t, found, false)
	}
	plural, group, _ := strings.Cut(t.Key.Name, ".")
	if err := a.Gate.Rules.Policy().Kind(group, plural, false); err != nil {
		return &policy.Refusal{
			Reason:  policy.ReasonDefinition,
			Message: "the site has a definition of this name of its own; " + err.Error(),
		}
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

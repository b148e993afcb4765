package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
)

// permitDefinition returns why a CustomResourceDefinition is not applied.
func (g *Gate) permitDefinition(ctx context.Context, o *Object, p *policy.Policy) error {
	plural, group, _ := strings.Cut(o.Key.Name, ".")
	annotations := o.Head.Metadata.Annotations
	if err := errors.Join(
		p.Kind(o.Key.Group, o.Key.Resource, false), p.DefinitionOf(group, plural), p.Conversion(o.Body),
	); err != nil {
		return err
	}
	if err := g.keptDefinition(ctx, o, p, group); err != nil {
		return err
	}
	if err := p.Definition(group, annotations, false); err != nil || p.Definition(group, annotations, true) == nil {
		return err // whoever serves the group
	}
	versions, err := o.Client.Versions(ctx, group)
	if err != nil && !isNotServed(err) {
		return err
	}
	return p.Definition(group, annotations, len(versions) > 0 && !g.Definitions().defineGroup(group))
}

// keptDefinition refuses a definition in a group that the site keeps for other spaces, unless it
// shares one that is there. Where the site keeps the group for nobody, it refuses to change a definition that
// other spaces share and want otherwise: their objects would change with it.
func (g *Gate) keptDefinition(ctx context.Context, o *Object, p *policy.Policy, group string) error {
	mine, kept := p.KeepsDefinitions(o.Key.Space, group)
	switch {
	case kept && (o.Record.UID == "" || o.Record.Created):
		found, err := target.Find(ctx, o.Client, o.Resource, o.At, false)
		if err != nil || found != nil && found.OriginSpace() != o.Key.Space {
			return err
		}
		return &policy.Refusal{Reason: policy.ReasonDefinition, Message: fmt.Sprintf("the site keeps definitions in the "+
			"API group %q for another space (allow.definitions in the agent's configuration); ask its admin, or place "+
			"the space elsewhere", group)}
	case mine || !o.Record.Created || o.Record.UID == "":
		return nil
	}
	for _, k := range g.Definitions().Sharing(o.Key) {
		e, ok, err := g.Desired.Get(k)
		if err != nil {
			return fmt.Errorf("read the definition of a space that shares it: %w", err)
		}
		if ok && !e.Tombstone && !EqualSpecs(e.Body, o.Body) {
			return &policy.Refusal{Reason: policy.ReasonDefinition, Message: fmt.Sprintf("space %q shares definition %s at "+
				"this site and has another version of it; it is changed when both are equal, or when the site keeps the "+
				"group for space %q (allow.definitions: [%s=%s])", k.Space, o.Key.Name, o.Key.Space, o.Key.Space, group)}
		}
	}
	return nil
}

// EqualSpecs reports whether two definitions, as JSON, say the same.
func EqualSpecs(a, b []byte) bool {
	var one, other struct {
		Spec any `json:"spec"`
	}
	return json.Unmarshal(a, &one) == nil && json.Unmarshal(b, &other) == nil && reflect.DeepEqual(one.Spec, other.Spec)
}

// Shares returns why a space does not use a definition that exists and was not applied for it. An
// equal one of another space is shared. One of the site is used where the site allows its objects.
func (g *Gate) Shares(ctx context.Context, o *Object, found *target.Object, whole map[string]any) error {
	if space := found.OriginSpace(); space != "" {
		would, err := o.Client.Would(ctx, o.Resource, "", o.Key.Name, o.Body, found.Metadata.UID)
		immutable := apierrors.IsInvalid(err) // scope or kind differ
		if err != nil && !immutable {
			return fmt.Errorf("compare with the definition that is there: %w", err)
		}
		if immutable || !reflect.DeepEqual(would["spec"], whole["spec"]) {
			return &policy.Refusal{
				Reason: policy.ReasonDefinition,
				Message: fmt.Sprintf("space %q and space %q have different definitions named %s, and the site "+
					"can have one; make them equal, or place one of the spaces elsewhere", o.Key.Space, space, o.Key.Name),
			}
		}
		return nil
	}
	plural, group, _ := strings.Cut(o.Key.Name, ".")
	if err := g.Rules.Policy().Kind(group, plural, false); err != nil {
		return &policy.Refusal{
			Reason:  policy.ReasonDefinition,
			Message: "the site has a definition of this name of its own; " + err.Error(),
		}
	}
	return nil
}

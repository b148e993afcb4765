package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// namespaceBody makes the body of a Namespace the one that is applied: with the site's Pod Security
// level, and of one that was there only the annotations.
func namespaceBody(o *Object, p *policy.Policy) error {
	if err := p.Name(string(o.Mapping), o.Key.Name); err != nil {
		return err
	}
	whole := map[string]any{}
	if err := json.Unmarshal(o.Body, &whole); err != nil {
		return fmt.Errorf("decode desired object: %w", err)
	}
	metadata, _ := whole["metadata"].(map[string]any)
	labels := p.Labels(o.Key.Space, o.Head.Metadata.Labels)
	notes := p.Annotations(o.Head.Metadata.Annotations)
	delete(notes, target.AnnotationExisted) // whoever says so would leave the namespace behind, without a level
	metadata["annotations"] = notes
	if o.Existed {
		labels = map[string]string{policy.LevelLabel: labels[policy.LevelLabel]}
		annotations := map[string]any{target.AnnotationExisted: "true"}
		for _, key := range []string{target.AnnotationOrigin, target.AnnotationOriginUID,
			target.AnnotationSpaceUID, target.AnnotationNamespacePrefix} {
			if value, ok := o.Head.Metadata.Annotations[key]; ok {
				annotations[key] = value
			}
		}
		metadata = map[string]any{"name": o.At.Name, "annotations": annotations}
		whole["metadata"] = metadata
	}
	metadata["labels"] = labels
	body, err := json.Marshal(whole)
	o.Body = body
	return err
}

// Claim decides about a Namespace that exists and has no record: whose it is, and whether its space
// may have it. It makes the body of the Namespace the one that is applied then.
func (g *Gate) Claim(ctx context.Context, o *Object, found *target.Object) error {
	owner := policy.Space{Name: found.OriginSpace(), UID: found.Metadata.Annotations[target.AnnotationSpaceUID]}
	is := policy.Existing{Name: o.At.Name, Owner: owner}
	if owner.Name == "" {
		if err := inspect(ctx, o, &is); err != nil {
			return err
		}
	}
	want := policy.Space{Name: o.Key.Space, UID: o.Head.Metadata.Annotations[target.AnnotationSpaceUID]}
	p := g.Rules.Policy()
	if err := p.Namespace(want, is); err != nil {
		return inWords(o, err)
	}
	o.Existed = owner.Name == "" || found.Metadata.Annotations[target.AnnotationExisted] != ""
	return namespaceBody(o, p)
}

// inspect finds out whether anybody uses a namespace.
func inspect(ctx context.Context, o *Object, is *policy.Existing) error {
	var foreign *ForeignContentsError
	err := foreignInNamespace(ctx, o.Client, o.At)
	if err != nil && !errors.As(err, &foreign) {
		return err
	}
	if foreign != nil {
		is.Foreign = foreign.Names
	}
	if is.Bound, err = o.Client.BoundAccounts(ctx, o.At.Name); err != nil {
		return fmt.Errorf("look for rights of the ServiceAccounts in namespace %s: %w", o.At.Name, err)
	}
	return nil
}

// Release gives back a namespace that was there before, by its UID: all that we had set on it is
// taken off.
func (g *Gate) Release(ctx context.Context, c *target.Client, at store.Key, uid string) error {
	if err := g.Contents(ctx, c, at); errors.Is(err, ErrOwnLeft) {
		return err
	}
	if err := c.Unbind(ctx, at.Name); err != nil {
		return err
	}
	body := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, at.Name)
	_, _, err := c.Apply(ctx, Namespaces, "", at.Name, body, target.Applying{UID: uid, Unmarked: true})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("give the namespace back: %w", err)
	}
	return nil
}

// Namespaces is the resource of Namespaces.
var Namespaces = target.Resource{Version: "v1", Plural: "namespaces"}

// inWords has a refusal of a Namespace say what that is called at the site.
func inWords(o *Object, err error) error {
	var refused *policy.Refusal
	if o.Mapping == "" || !errors.As(err, &refused) {
		return err
	}
	return &policy.Refusal{
		Reason:  refused.Reason,
		Message: fmt.Sprintf("namespace %q is %q at the site; %s", o.Key.Name, o.At.Name, refused.Message),
	}
}

// DefaultAccountOf returns why the default ServiceAccount of a namespace stays as it is, nil where the space may say
// something of it. In a namespace that was there before its space, the account is the site's.
func (g *Gate) DefaultAccountOf(space, namespace string) error {
	r, _ := g.Inventory.Get(inventory.NamespaceKey(space, namespace))
	if !g.Sealed() || r.Created {
		return nil
	}
	return &policy.Refusal{Reason: policy.ReasonTakeOver, Message: "the namespace was there before, and its " +
		"ServiceAccount " + DefaultAccount + " is the site's: have the Pods name another ServiceAccount"}
}

// TakeOver returns why an object of the cluster is not taken over for a space, nil if it may be.
func (g *Gate) TakeOver(k, at store.Key) error {
	if !g.Sealed() {
		return nil
	}
	if err := g.Rules.Policy().TakeOver(k.Group, k.Resource); err != nil {
		return err
	}
	if Protected(at) { // the Service of the cluster's API, for example
		return &policy.Refusal{Reason: policy.ReasonTakeOver,
			Message: "the cluster made the object for itself, and nobody takes it over; choose another name"}
	}
	return nil
}

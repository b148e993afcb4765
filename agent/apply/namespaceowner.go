package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/site"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// denials are the Namespaces that the site refuses to their space. Reports of objects in them say
// so.
type denials struct {
	mu  sync.Mutex
	why map[store.Key]*policy.Refusal
}

func (d *denials) set(k store.Key, why *policy.Refusal) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.why == nil {
		d.why = map[store.Key]*policy.Refusal{}
	}
	d.why[k] = why
}

func (d *denials) clear(k store.Key) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.why, k)
}

func (d *denials) get(k store.Key) *policy.Refusal {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.why[k]
}

// errNoNamespace is returned until the Namespace of an object belongs to its space on the target.
var errNoNamespace = errors.New("its Namespace is not there for this space yet")

// hasAccount tells whether the space has a ServiceAccount here, in the namespace of an object.
func hasAccount(a *Applier, t *task) func(name string) bool {
	return func(name string) bool {
		r, known := a.Inventory.Get(
			store.Key{Space: t.Key.Space, Resource: "serviceaccounts", Namespace: t.Key.Namespace, Name: name},
		)
		return known && r.UID != ""
	}
}

// permit returns why the site does not let an object be applied, nil if it does.
func (a *Applier) permit(ctx context.Context, t *task) error {
	if !a.Gate.Sealed() {
		return nil
	}
	p := a.Gate.Rules.Policy()
	if t.Key.Class() == store.ClassNamespace || t.Key.Namespace != "" {
		if err := a.Gate.Accounts.Hold(ctx, t.client); err != nil {
			return err
		}
	}
	switch t.Key.Class() {
	case store.ClassNamespace:
		return a.namespaceBody(t, p)
	case store.ClassCRD:
		return a.permitDefinition(ctx, t, p)
	case store.ClassOther:
	}
	if policy.IsWebhooks(t.Key.Group, t.Key.Resource) {
		return a.mirrorWebhooks(ctx, t, p)
	}
	if err := p.Kind(t.Key.Group, t.Key.Resource, a.Gate.Definitions().Defined(t.Key)); err != nil {
		return err
	}
	if t.Key.Namespace == "" && policy.IsRights(t.Key.Group) {
		return a.permitRights(ctx, t, p)
	}
	if t.Key.Namespace == "" {
		return p.Object(t.Key.Space, "", policy.KindName(t.Key.Group, t.Key.Resource), t.Body, hasAccount(a, t))
	}
	if _, there := a.Inventory.Prefix(t.Key.Space, t.Key.Namespace); !there {
		if why := a.denials.get(inventory.NamespaceKey(t.Key.Space, t.Key.Namespace)); why != nil {
			return why
		}
		return errNoNamespace
	}
	if policy.IsRights(t.Key.Group) {
		return a.permitRights(ctx, t, p)
	}
	if err := a.awaitWebhooks(t.Key); err != nil {
		return err
	}
	err := p.Object(
		t.Key.Space,
		t.at.Namespace,
		policy.KindName(t.Key.Group, t.Key.Resource),
		t.Body,
		hasAccount(a, t),
	)
	if err == nil {
		err = a.projectsOwnToken(ctx, t, p)
	}
	if err == nil {
		err = a.mountsInline(ctx, t, p)
	}
	if err == nil {
		err = a.lacksClass(ctx, t, p)
	}
	if err == nil {
		err = a.alias(ctx, t, p)
	}
	if err == nil {
		err = a.expose(ctx, t, p)
	}
	return err
}

// namespaceBody makes the body of a Namespace the one that is applied: with the site's Pod Security
// level, and of one that was there only the annotations.
func (a *Applier) namespaceBody(t *task, p *policy.Policy) error {
	if err := p.Name(string(t.mapping), t.Key.Name); err != nil {
		return err
	}
	o, err := t.whole()
	if err != nil {
		return err
	}
	metadata, _ := o["metadata"].(map[string]any)
	labels := p.Labels(t.Key.Space, t.head.Metadata.Labels)
	notes := p.Annotations(t.head.Metadata.Annotations)
	delete(notes, target.AnnotationExisted) // whoever says so would leave the namespace behind, without a level
	metadata["annotations"] = notes
	if t.existed {
		labels = map[string]string{policy.LevelLabel: labels[policy.LevelLabel]}
		annotations := map[string]any{target.AnnotationExisted: "true"}
		for _, key := range []string{target.AnnotationOrigin, target.AnnotationOriginUID,
			target.AnnotationSpaceUID, target.AnnotationNamespacePrefix} {
			if value, ok := t.head.Metadata.Annotations[key]; ok {
				annotations[key] = value
			}
		}
		metadata = map[string]any{"name": t.at.Name, "annotations": annotations}
		o["metadata"] = metadata
	}
	metadata["labels"] = labels
	t.Body, err = json.Marshal(o)
	return err
}

// claim decides about a Namespace that exists and has no record: whose it is, and whether its space
// may have it.
func (a *Applier) claim(ctx context.Context, t *task, found *target.Object) error {
	owner := policy.Space{Name: found.OriginSpace(), UID: found.Metadata.Annotations[target.AnnotationSpaceUID]}
	is := policy.Existing{Name: t.at.Name, Owner: owner}
	if owner.Name == "" {
		if err := a.inspect(ctx, t, &is); err != nil {
			return err
		}
	}
	want := policy.Space{Name: t.Key.Space, UID: t.head.Metadata.Annotations[target.AnnotationSpaceUID]}
	if err := a.Gate.Rules.Policy().Namespace(want, is); err != nil {
		return inWords(t, err)
	}
	if err := deleting(found); err != nil {
		return err
	}
	t.existed = owner.Name == "" || found.Metadata.Annotations[target.AnnotationExisted] != ""
	if err := a.namespaceBody(t, a.Gate.Rules.Policy()); err != nil {
		return err
	}
	live, err := a.put(
		ctx,
		t,
		t.Body,
		target.Applying{UID: found.Metadata.UID, ResourceVersion: found.Metadata.ResourceVersion},
	)
	if err != nil {
		return err
	}
	if owner.Name == "" {
		a.Log.Info("a namespace that was there is the space's from now on", "key", t.Key)
	}
	return a.written(ctx, t, live, !t.existed)
}

// inspect finds out whether anybody uses a namespace.
func (a *Applier) inspect(ctx context.Context, t *task, is *policy.Existing) error {
	var foreign *site.ForeignContentsError
	err := site.ForeignInNamespace(ctx, t.client, t.at)
	if err != nil && !errors.As(err, &foreign) {
		return err
	}
	if foreign != nil {
		is.Foreign = foreign.Names
	}
	if is.Bound, err = t.client.BoundAccounts(ctx, t.at.Name); err != nil {
		return fmt.Errorf("look for rights of the ServiceAccounts in namespace %s: %w", t.at.Name, err)
	}
	return nil
}

// namespaces is the resource of Namespaces.
var namespaces = target.Resource{Version: "v1", Plural: "namespaces"}

// releaseNamespace gives back a namespace that was there before: all that we had set on it is taken
// off.
func (a *Applier) releaseNamespace(
	ctx context.Context,
	c *target.Client,
	e store.Entry,
	at store.Key,
	uid string,
) error {
	if err := a.Gate.Contents(ctx, c, at); errors.Is(err, site.ErrOwnLeft) {
		return err
	}
	if err := c.Unbind(ctx, at.Name); err != nil {
		return err
	}
	body := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, at.Name)
	_, _, err := c.Apply(
		ctx,
		namespaces,
		"",
		at.Name,
		body,
		target.Applying{UID: uid, Unmarked: true},
	)
	if err != nil && !isNotThere(err) {
		return fmt.Errorf("give the namespace back: %w", err)
	}
	return a.finish(ctx, e, "given back")
}

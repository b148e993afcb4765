package apply

import (
	"errors"
	"fmt"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// mappingOf is what the namespaces of a key's space are called on the target, as far as its object
// goes. What is there stays where it is, and what is made goes to where the Namespace of its space
// is; a Namespace that is made has the name that it says itself.
func (a *Applier) mappingOf(k store.Key, r inventory.Record, says *target.Object) target.Mapping {
	if r.UID != "" {
		return target.Mapping(r.Prefix)
	}
	if k.Namespace != "" {
		if prefix, there := a.Inventory.Prefix(k.Space, k.Namespace); there {
			return target.Mapping(prefix)
		}
	}
	return a.Clients.Mapping(says)
}

// locate says where on the target an object is, or is to be, and makes its body the one that goes
// there.
func (a *Applier) locate(t *task) (err error) {
	if a.Relay {
		return nil
	}
	t.mapping = a.mappingOf(t.Key, t.record, &t.head)
	if policy.IsWebhooks(t.Key.Group, t.Key.Resource) { // permit makes its body
		t.at = t.mapping.KeyThere(t.Key)
		return nil
	}
	if t.mapping == "" && t.head.Mapping() == "" {
		return nil
	}
	if t.Body, err = t.mapping.BodyThere(t.Key, t.Body); err != nil {
		return err
	}
	t.head = target.Object{}
	if err := t.decode(); err != nil {
		return err
	}
	t.at = t.mapping.KeyThere(t.Key)
	return nil
}

// inWords has a refusal of a Namespace say what that is called at the site.
func inWords(t *task, err error) error {
	var refused *policy.Refusal
	if t.mapping == "" || !errors.As(err, &refused) {
		return err
	}
	return &policy.Refusal{
		Reason:  refused.Reason,
		Message: fmt.Sprintf("namespace %q is %q at the site; %s", t.Key.Name, t.at.Name, refused.Message),
	}
}

// spaceWords puts the space's names into what the target said of an object. A refusal by the site's
// policy names both by itself.
func (a *Applier) spaceWords(k store.Key, err error, message string) string {
	var refused *policy.Refusal
	if errors.As(err, &refused) {
		return message
	}
	var with *withOrigin
	mapping := target.Mapping("")
	if errors.As(err, &with) {
		mapping = with.mapping
	} else if r, known := a.Inventory.Get(k); known {
		mapping = target.Mapping(r.Prefix)
	}
	namespace := k.Namespace
	if k.Class() == store.ClassNamespace {
		namespace = k.Name
	}
	return mapping.Words(namespace, message)
}

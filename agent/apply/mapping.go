package apply

import (
	"errors"

	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// locate says where on the target an object is, or is to be, and makes its body the one that goes
// there.
func (a *Applier) locate(t *task) (err error) {
	if a.Relay {
		return nil
	}
	t.mapping = a.Gate.MappingOf(t.Key, t.record, &t.head)
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

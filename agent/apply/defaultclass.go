package apply

import (
	"encoding/json"
	"fmt"

	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/variants"
	"skerry.dev/skerry/store"
)

// unmark takes the mark of a default class off an IngressClass of a space: at a site it would give the class the
// Ingresses of everybody who names none. Those of the space name it, as the space fills it in. A site whose admin
// has opened the kind takes the mark.
func unmark(site Site, e store.Entry, v *variants.Variant) error {
	if site == nil || !policy.IsIngressClass(e.Key.Group, e.Key.Resource) || site.Policy().MayServeAll() {
		return nil
	}
	var o, metadata map[string]json.RawMessage
	var annotations map[string]string
	err := json.Unmarshal(v.Body, &o)
	if err == nil {
		err = json.Unmarshal(o["metadata"], &metadata)
	}
	if err == nil && len(metadata["annotations"]) > 0 {
		err = json.Unmarshal(metadata["annotations"], &annotations)
	}
	if err != nil {
		return fmt.Errorf("read the annotations of an IngressClass: %w", err)
	}
	if _, marked := annotations[policy.DefaultIngressClass]; !marked {
		return nil
	}
	delete(annotations, policy.DefaultIngressClass)
	for _, part := range []struct {
		in   map[string]json.RawMessage
		name string
		is   any
	}{{metadata, "annotations", annotations}, {o, "metadata", metadata}} {
		if part.in[part.name], err = json.Marshal(part.is); err != nil {
			return fmt.Errorf("encode an IngressClass: %w", err)
		}
	}
	if v.Body, err = json.Marshal(o); err != nil {
		return fmt.Errorf("encode an IngressClass: %w", err)
	}
	v.Hash = store.HashBody(e.Generation, v.Body)
	return nil
}

package target

import (
	"encoding/json"
	"hash/fnv"
	"slices"
)

// Managed is one entry of metadata.managedFields: who owns which fields.
type Managed struct {
	Manager     string          `json:"manager,omitempty"`
	Operation   string          `json:"operation,omitempty"`
	APIVersion  string          `json:"apiVersion,omitempty"`
	Time        string          `json:"time,omitempty"`
	FieldsType  string          `json:"fieldsType,omitempty"`
	FieldsV1    json.RawMessage `json:"fieldsV1,omitempty"`
	Subresource string          `json:"subresource,omitempty"`
}

// ours reports whether this is the entry of what an agent applied.
func (m *Managed) ours() bool {
	return m.Manager == FieldManager && m.Operation == "Apply" && m.Subresource == ""
}

// Ours reports whether an agent has written anything of an object, as the target records it.
func (o *Object) Ours() bool {
	return slices.ContainsFunc(o.Metadata.ManagedFields, func(m Managed) bool { return m.Manager == FieldManager })
}

// Owned returns the fields that an agent owns on an object, as the target records them; nil if
// none. Whoever changes or removes a field that we applied takes it out of here, and nothing else
// does.
func (o *Object) Owned() json.RawMessage {
	for i := range o.Metadata.ManagedFields {
		if m := &o.Metadata.ManagedFields[i]; m.ours() {
			return m.FieldsV1
		}
	}
	return nil
}

// ContentSum returns a 64-bit hash that changes with every write except one of status.
func (o *Object) ContentSum() uint64 {
	h := fnv.New64a()
	for i := range o.Metadata.ManagedFields {
		m := &o.Metadata.ManagedFields[i]
		if m.Subresource == "status" {
			continue
		}
		for _, part := range []string{m.Manager, m.Operation, m.Time} {
			h.Write([]byte(part))
		}
		h.Write(m.FieldsV1)
	}
	if o.Metadata.Generation == 0 { // the time of an entry is only a second's
		h.Write([]byte(o.Metadata.ResourceVersion))
	}
	return h.Sum64() + uint64(o.Metadata.Generation)
}

// OwnedSum returns a 64-bit hash of Owned; 0 if nothing is owned.
func (o *Object) OwnedSum() uint64 {
	owned := o.Owned()
	if owned == nil {
		return 0
	}
	h := fnv.New64a()
	h.Write(owned)
	return h.Sum64() | 1
}

package target

import (
	"encoding/json"
	"hash/fnv"
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

// ours tells the entry of what an agent applied.
func (m *Managed) ours() bool {
	return m.Manager == FieldManager && m.Operation == "Apply" && m.Subresource == ""
}

// Owned is which fields an agent owns on an object, as the target records them; nil when none. Whoever changes or removes a field that we applied
// takes it out of here, and nothing else does.
func (o *Object) Owned() json.RawMessage {
	for i := range o.Metadata.ManagedFields {
		if m := &o.Metadata.ManagedFields[i]; m.ours() {
			return m.FieldsV1
		}
	}
	return nil
}

// OwnedSum is a 64-bit hash of Owned, never 0.
func (o *Object) OwnedSum() uint64 {
	h := fnv.New64a()
	h.Write(o.Owned())
	return h.Sum64() | 1
}

// fields is a node of a set of fields, in the form of managedFields: "f:name" is a member, `k:{...}` an element of a list, and an empty
// node a field that is owned as a whole.
type fields map[string]fields

// owned is Owned, decoded; nil when nothing is owned or it cannot be read.
func (o *Object) owned() fields {
	var f fields
	if json.Unmarshal(o.Owned(), &f) != nil {
		return nil
	}
	return f
}

func (f fields) below(name string) fields { return f["f:"+name] }

package target

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"skerry.dev/skerry/store"
)

// Mapping says what the namespaces of a space are called on a cluster: it is the prefix that their
// names have there. The empty Mapping leaves names as they are; namespaces kube-* have one in any
// case (store.SystemPrefix). Names of namespaces in an agent are those of the space; where a request
// is made they become those of the cluster.
type Mapping string

// Relays reports whether the target is a relay.
func (c *Clients) Relays() bool {
	_, relay := c.access.(*relay)
	return relay
}

// Mapping is what an object says of its space's namespaces. At a relay nothing is mapped: its own
// Spaces say what its sites do.
func (c *Clients) Mapping(o *Object) Mapping {
	if _, relay := c.access.(*relay); relay {
		return ""
	}
	return o.Mapping()
}

// KeyThere is m.KeyThere, but at a relay: its spaces have the names that their parent's have.
func (c *Clients) KeyThere(m Mapping, k store.Key) store.Key {
	if _, relay := c.access.(*relay); relay {
		return k
	}
	return m.KeyThere(k)
}

// KeyHere undoes KeyThere. It tells false where the names are not of the space.
func (c *Clients) KeyHere(m Mapping, k store.Key) (store.Key, bool) {
	if _, relay := c.access.(*relay); relay {
		return k, true
	}
	return m.KeyHere(k)
}

// Mapping is what the object says of its space's namespaces.
func (o *Object) Mapping() Mapping {
	return Mapping(o.Metadata.Annotations[AnnotationNamespacePrefix])
}

// There is the name on the cluster of a space's namespace; empty for an empty one.
func (m Mapping) There(namespace string) string {
	if namespace == "" {
		return ""
	}
	return string(m) + namespace
}

// Here is the name in the space of a namespace on the cluster. It tells false for a namespace that
// is not one of the space's.
func (m Mapping) Here(namespace string) (string, bool) {
	if namespace == "" {
		return "", true
	}
	name, ok := strings.CutPrefix(namespace, string(m))
	return name, ok && name != ""
}

// KeyThere is a key with the cluster's names in place of the space's.
func (m Mapping) KeyThere(k store.Key) store.Key {
	k.Namespace = m.There(k.Namespace)
	switch {
	case k.Class() == store.ClassNamespace:
		k.Name = m.There(k.Name)
	case mirrored(k):
		k.Name = mirrorPrefix(k.Space) + k.Name
	}
	return k
}

// KeyHere undoes KeyThere. It tells false where the names are not of the space.
func (m Mapping) KeyHere(k store.Key) (store.Key, bool) {
	namespace, ok := m.Here(k.Namespace)
	switch k.Namespace = namespace; {
	case ok && k.Class() == store.ClassNamespace:
		k.Name, ok = m.Here(k.Name)
	case ok && mirrored(k):
		k.Name, ok = strings.CutPrefix(k.Name, mirrorPrefix(k.Space))
	}
	return k, ok
}

// Words puts the space's name of a namespace into a text of the cluster's.
func (m Mapping) Words(namespace, text string) string {
	if m == "" || namespace == "" {
		return text
	}
	return strings.ReplaceAll(text, m.There(namespace), namespace)
}

// BodyThere returns a delivered body as the cluster is to have it: in its namespace, with
// AnnotationNamespacePrefix, and with the cluster's names where a kind of Kubernetes refers to namespaces. A
// body that says nothing of a Mapping stays as it is under an empty one.
func (m Mapping) BodyThere(k store.Key, body []byte) ([]byte, error) {
	if m == "" && !bytes.Contains(body, []byte(AnnotationNamespacePrefix)) {
		return body, nil
	}
	o, err := Whole(body)
	if err != nil {
		return nil, err
	}
	metadata, _ := o["metadata"].(map[string]any)
	if metadata == nil {
		return nil, fmt.Errorf("decode desired object: it has no metadata")
	}
	if k.Namespace != "" {
		metadata["namespace"] = m.There(k.Namespace)
	}
	if k.Class() == store.ClassNamespace {
		metadata["name"] = m.There(k.Name)
		if labels, _ := metadata["labels"].(map[string]any); labels[LabelNamespaceName] != nil {
			labels[LabelNamespaceName] = m.There(k.Name)
		}
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	if annotations[AnnotationNamespacePrefix] = string(m); m == "" {
		delete(annotations, AnnotationNamespacePrefix)
	}
	if m != Mapping(store.SystemPrefix(k.Space)) { // that is no name of the space's other namespaces
		rename(o, k.Group+"/"+k.Resource, m.refer)
	}
	return json.Marshal(o)
}

// BodyHere is an object of the cluster with the space's names where a kind of Kubernetes refers to
// namespaces. Its own namespace is the caller's.
func (m Mapping) BodyHere(k store.Key, body []byte) ([]byte, error) {
	if m == "" || !bytes.Contains(body, []byte(m)) {
		return body, nil
	}
	o, err := Whole(body)
	if err != nil {
		return nil, err
	}
	rename(o, k.Group+"/"+k.Resource, func(name string) string {
		return strings.TrimPrefix(name, string(m))
	})
	return json.Marshal(o)
}

// refer is the cluster's name for a namespace that an object of the space names. Those of
// Kubernetes itself are no space's.
func (m Mapping) refer(name string) string {
	if strings.HasPrefix(name, "kube-") {
		return name
	}
	return m.There(name)
}

// Whole reads an object without loss: numbers stay as they are written.
func Whole(body []byte) (map[string]any, error) {
	o := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&o); err != nil {
		return nil, fmt.Errorf("decode object: %w", err)
	}
	return o, nil
}

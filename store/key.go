package store

import (
	"errors"
	"fmt"
	"strings"
)

// MaxKeyBytes is the greatest size of an encoded Key: the sum of its parts.
const MaxKeyBytes = 1 << 10

// ErrKey is returned when a Key has no resource, or is longer than MaxKeyBytes, or has a part with
// a NUL byte or a slash.
var ErrKey = errors.New("invalid key")

// Key names one object in one space. Resource is the lower-case plural of the API ("deployments"),
// Group is empty for the core group and Namespace is empty for cluster-scoped objects.
type Key struct {
	Space     string
	Group     string
	Resource  string
	Namespace string
	Name      string
}

// SpaceOf returns the space of a key.
func SpaceOf(k Key) string { return k.Space }

// String returns space/group/resource/namespace/name, with "core" for the empty group and "_" for
// no namespace. It is for people; Encode is for machines.
func (k Key) String() string {
	group, ns := k.Group, k.Namespace
	if group == "" {
		group = "core"
	}
	if ns == "" {
		ns = "_"
	}
	return k.Space + "/" + group + "/" + k.Resource + "/" + ns + "/" + k.Name
}

// Validate returns ErrKey with the broken rule.
func (k Key) Validate() error {
	if k.Resource == "" || k.Name == "" {
		return fmt.Errorf("%w: no resource or no name in %q", ErrKey, k.String())
	}
	n := 4
	for _, part := range k.parts() {
		n += len(part)
		if strings.IndexByte(part, '/') >= 0 || strings.IndexByte(part, 0) >= 0 {
			return fmt.Errorf("%w: %q has a slash or a NUL byte", ErrKey, part)
		}
	}
	if n > MaxKeyBytes {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrKey, n, MaxKeyBytes)
	}
	return nil
}

// Encode returns the parts joined by "/". Two keys are equal when their encodings are, and all keys
// of one space share the prefix "<space>/".
func (k Key) Encode() string {
	p := k.parts()
	return strings.Join(p[:], "/")
}

// AppendTo appends what Encode returns.
func (k Key) AppendTo(dst []byte) []byte {
	for i, part := range k.parts() {
		if i > 0 {
			dst = append(dst, '/')
		}
		dst = append(dst, part...)
	}
	return dst
}

// DecodeKey is the inverse of Key.Encode. It returns ErrKey for anything that Encode cannot have
// made.
func DecodeKey(s string) (Key, error) {
	if len(s) > MaxKeyBytes {
		return Key{}, fmt.Errorf("%w: %d bytes, at most %d", ErrKey, len(s), MaxKeyBytes)
	}
	if n := strings.Count(s, "/") + 1; n != 5 {
		return Key{}, fmt.Errorf("%w: %d parts instead of 5", ErrKey, n)
	}
	var p [5]string
	for i := range p {
		p[i], s, _ = strings.Cut(s, "/")
	}
	k := Key{Space: p[0], Group: p[1], Resource: p[2], Namespace: p[3], Name: p[4]}
	return k, k.Validate()
}

func (k Key) parts() [5]string {
	return [5]string{k.Space, k.Group, k.Resource, k.Namespace, k.Name}
}

// IsService reports whether a key is that of a Service.
func (k Key) IsService() bool { return k.Group == "" && k.Resource == "services" }

// Class is the order in which kinds are applied: smaller first. Deletion goes the other way round.
type Class uint8

// The classes: what says how objects are rendered before all of them, a CustomResourceDefinition
// before its objects, a Namespace before what lives in it.
const (
	ClassRule Class = iota
	ClassCRD
	ClassNamespace
	ClassOther
)

// Class tells where the object stands in the order of application.
func (k Key) Class() Class {
	switch {
	case k.isRule():
		return ClassRule
	case k.Group == "apiextensions.k8s.io" && k.Resource == "customresourcedefinitions":
		return ClassCRD
	case k.Group == "" && k.Resource == "namespaces":
		return ClassNamespace
	default:
		return ClassOther
	}
}

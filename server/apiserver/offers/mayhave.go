package offers

import (
	"context"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/tunnel"
)

// MayHave reports whether a target that the space of ctx may use has a class, as far as that is
// known. It is true while the space has no target: the one to come may have the class.
func (t *Table) MayHave(ctx context.Context, kind, name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	targets := t.listLocked(request.Space(ctx))
	for _, of := range targets {
		if !of.tellsAll() || of.class(kind, name) != nil {
			return true
		}
	}
	return len(targets) == 0
}

// tellsAll reports whether a target tells all of its classes. One that tells none was not asked yet,
// or may not read them; what is beyond the limit is not told.
func (t *target) tellsAll() bool {
	return len(t.classes) > 0 && len(t.classes) < tunnel.MaxClasses
}

// KeepsSize returns the first of some targets whose StorageClass of a name lets no claim grow. It is empty
// where none is known to.
func (t *Table) KeepsSize(targets []string, class string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range targets {
		of := t.targets[name]
		if of == nil || of.relay {
			continue
		}
		if c := of.class("StorageClass", class); c != nil && !c.AllowVolumeExpansion {
			return name
		}
	}
	return ""
}

// class is the class of a kind and name that a target tells of, nil for none.
func (t *target) class(kind, name string) *v1alpha1.SyncTargetClass {
	for i := range t.classes {
		if c := &t.classes[i]; c.Kind == kind && c.Name == name {
			return c
		}
	}
	return nil
}

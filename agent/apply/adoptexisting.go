package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"skerry.dev/skerry/agent/site"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// takenError is returned when a foreign object has the name on the target.
type takenError struct {
	space   string // that delivered it; empty when nobody did
	differs bool   // it would have been taken over had it been equal
}

// Error says whose the object is and how to go on.
func (t *takenError) Error() string {
	switch {
	case t.space != "":
		return fmt.Sprintf("the target already has an object of this name that was delivered from space %q; "+
			"delete it there, or choose another name or target", t.space)
	case t.differs:
		return "the target already has an object of this name that differs; make it equal, " +
			"or let the Placement's spec.sync.whenAlreadyExists be TakeOver"
	default:
		return "the target already has an object of this name that was not delivered from here; " +
			"remove it there, choose another name, " +
			"or let the Placement's spec.sync.whenAlreadyExists be TakeOver"
	}
}

// adoptExisting decides about an object that exists and has no record.
func (a *Applier) adoptExisting(ctx context.Context, t *task) error {
	found, whole, err := t.read(ctx)
	if err != nil {
		return err
	}
	if found == nil {
		return &changedError{errors.New("the object that had the name is gone")}
	}
	ours := a.wrote(t, found)
	if ours && found.OriginUID() != t.head.OriginUID() && runsOnce(t.Key) {
		t.record.UID = found.Metadata.UID
		return a.replace(ctx, t)
	}
	switch class := t.Key.Class(); {
	case class == store.ClassNamespace && a.Gate.Sealed():
		return a.claim(ctx, t, found)
	case class == store.ClassNamespace && !ours:
		a.record(t, found, false)
		return nil
	case class == store.ClassCRD && !ours && a.Gate.Sealed() && !a.takesOverDefinition(t, found):
		return a.adoptDefinition(ctx, t, found, whole)
	}
	if err := deleting(found); err != nil {
		return err
	}
	if !ours {
		if err := a.mayTake(ctx, t, found, whole); err != nil {
			return err
		}
		a.Log.Info("object taken over", "key", t.Key)
	}
	body, err := a.leaving(ctx, t, found, whole)
	if err != nil {
		return err
	}
	live, err := a.put(
		ctx,
		t,
		body,
		target.Applying{UID: found.Metadata.UID, ResourceVersion: found.Metadata.ResourceVersion},
	)
	if err != nil {
		if ours { // the record was lost
			t.record.UID, t.record.OriginUID, t.record.Created = found.Metadata.UID, found.OriginUID(), true
		}
		return redefine(ctx, a, t, err)
	}
	return a.written(ctx, t, live, ours)
}

// wrote reports whether an object without a record was written from here for the same key. A crash
// has lost the record, or the agent has joined anew. The object has the same source. Or it is of
// the same space and has this site's label, and its source was made anew meanwhile.
func (a *Applier) wrote(t *task, found *target.Object) bool {
	if found.OriginUID() == "" || found.OriginSpace() != t.Key.Space {
		return false
	}
	uid := a.Clients.Site()
	return found.OriginUID() == t.head.OriginUID() || uid != "" && found.Metadata.Labels[target.LabelSite] == uid
}

// mayTake returns why a foreign object is not adopted, nil if it is. An object of another space
// never is: spaces do not reach into each other.
func (a *Applier) mayTake(ctx context.Context, t *task, found *target.Object, whole map[string]any) error {
	if space := found.OriginSpace(); space != "" && space != t.Key.Space {
		return &takenError{space: space}
	}
	if site.IsDefaultAccount(t.Key) {
		return a.Gate.DefaultAccountOf(t.Key.Space, t.Key.Namespace)
	}
	if !t.policy.takesOver() && !t.policy.takesOverEqual() {
		return &takenError{}
	}
	if err := a.Gate.TakeOver(t.Key, t.at); err != nil {
		return err
	}
	if t.policy.takesOver() {
		return nil
	}
	body, err := a.leaving(ctx, t, found, whole)
	if err != nil {
		return err
	}
	would, err := t.writer.Would(ctx, t.resource, t.at.Namespace, t.at.Name, body, found.Metadata.UID)
	if err != nil {
		return fmt.Errorf("compare with the object that is there: %w", err)
	}
	if !reflect.DeepEqual(bare(would), bare(whole)) {
		return &takenError{differs: true}
	}
	return nil
}

// takesOverDefinition reports whether a definition of the site's own is to be adopted, and may be.
func (a *Applier) takesOverDefinition(t *task, found *target.Object) bool {
	return found.OriginSpace() == "" && t.policy.takesOver() &&
		a.Gate.Rules.Policy().TakeOver(t.Key.Group, t.Key.Resource) == nil
}

// maxNamed is how many fields a message names.
const maxNamed = 5

// bare returns an object without its status, and without what a server or our own labels and
// annotations make differ.
func bare(o map[string]any) map[string]any {
	out := maps.Clone(o)
	delete(out, "status")
	metadata, _ := out["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	for _, name := range []string{"managedFields", "resourceVersion", "generation"} {
		delete(metadata, name)
	}
	for _, name := range []string{"annotations", "labels"} {
		all, _ := metadata[name].(map[string]any)
		all = maps.Clone(all)
		maps.DeleteFunc(all, func(key string, _ any) bool { return strings.HasPrefix(key, target.KeyPrefix) })
		if len(all) == 0 {
			delete(metadata, name)
		} else {
			metadata[name] = all
		}
	}
	out["metadata"] = metadata
	return out
}

// leaving returns the body of a task for an object that exists. Retained fields have the values
// that the object has.
func (a *Applier) leaving(ctx context.Context, t *task, live *target.Object, whole map[string]any) ([]byte, error) {
	pointers, err := a.retainedFields(ctx, t, live, false)
	if err != nil || len(pointers) == 0 {
		return t.Body, err
	}
	body, err := t.whole()
	if err != nil {
		return nil, err
	}
	for _, p := range pointers {
		if err := live.Leave(body, whole, p); err != nil {
			return nil, &policyError{err}
		}
	}
	return json.Marshal(body)
}

package target

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Deletion says which object to delete, and what becomes of what it owns.
type Deletion struct {
	UID string
	// ResourceVersion is the only version that is deleted; empty is any.
	ResourceVersion string
	// KeepDependents lets what it owns stay. WithDependents has the object go when what it owns has gone.
	// Otherwise that follows in the background.
	KeepDependents, WithDependents bool
}

// Delete asks for the deletion of exactly this object. It reports whether the object is gone with
// the answer. Otherwise the target has yet to finish, or does not say.
func (c *Client) Delete(ctx context.Context, r Resource, namespace, name string, d Deletion) (gone bool, err error) {
	policy := metav1.DeletePropagationBackground
	switch {
	case d.KeepDependents:
		policy = metav1.DeletePropagationOrphan
	case d.WithDependents:
		policy = metav1.DeletePropagationForeground
	}
	options := metav1.DeleteOptions{
		TypeMeta:          metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions:     &metav1.Preconditions{UID: (*types.UID)(&d.UID)},
		PropagationPolicy: &policy,
	}
	if d.ResourceVersion != "" {
		options.Preconditions.ResourceVersion = &d.ResourceVersion
	}
	body, err := json.Marshal(options)
	if err != nil {
		return false, fmt.Errorf("encode delete options: %w", err)
	}
	var answer struct {
		Kind   string
		Status json.RawMessage // a word, or what the object has there
	}
	_, err = c.call(ctx, http.MethodDelete, r.Path(namespace, name), nil, jsonType, body, &answer)
	return err == nil && answer.Kind == "Status" && string(answer.Status) == `"`+metav1.StatusSuccess+`"`, err
}

// Annotate sets an annotation of an object, and nothing else; an empty value takes it off. The answer
// is a conflict if another object has taken its name.
func (c *Client) Annotate(ctx context.Context, r Resource, live *Object, name, value string) error {
	m := live.Metadata
	var set *string
	if value != "" {
		set = &value
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": m.UID, "annotations": map[string]*string{name: set},
	}})
	if err != nil {
		return fmt.Errorf("encode annotation: %w", err)
	}
	query := url.Values{"fieldManager": {FieldManager}}
	_, err = c.call(ctx, http.MethodPatch, r.Path(m.Namespace, m.Name), query, mergeType, body, nil)
	return err
}

// Release removes our labels, annotations and ownership of fields from an object; every field keeps
// its value. It reports false if there was nothing to remove. The answer is a conflict if the
// object has changed since it was read.
func (c *Client) Release(ctx context.Context, r Resource, live *Object) (bool, error) {
	m := live.Metadata
	others := []any{}
	for i := range m.ManagedFields {
		if m.ManagedFields[i].Manager != FieldManager {
			others = append(others, m.ManagedFields[i])
		}
	}
	change := map[string]any{"resourceVersion": m.ResourceVersion}
	owned := live.owned().below("metadata")
	if keys := ownKeys(m.Annotations, owned.below("annotations")); len(keys) > 0 {
		change["annotations"] = keys
	}
	if keys := ownKeys(m.Labels, owned.below("labels")); len(keys) > 0 {
		change["labels"] = keys
	}
	if len(others) < len(m.ManagedFields) {
		if len(others) == 0 {
			others = append(others, struct{}{}) // [{}] empties the list, where [] would leave it as it is
		}
		change["managedFields"] = others
	}
	if len(change) == 1 {
		return false, nil
	}
	body, err := json.Marshal(map[string]any{"metadata": change})
	if err != nil {
		return false, fmt.Errorf("encode release: %w", err)
	}
	query := url.Values{"fieldManager": {FieldManager}}
	_, err = c.call(ctx, http.MethodPatch, r.Path(m.Namespace, m.Name), query, mergeType, body, nil)
	return err == nil, err
}

// ownKeys returns a merge patch that removes our labels and annotations: those that we own, and
// always those of the origin. In a relay the same object has some of the relay itself, which stay.
func ownKeys(all map[string]string, owned fields) map[string]any {
	out := map[string]any{}
	for name := range all {
		if strings.HasPrefix(name, KeyPrefix) && owned["f:"+name] != nil || name == AnnotationOrigin ||
			name == AnnotationOriginUID {
			out[name] = nil
		}
	}
	return out
}

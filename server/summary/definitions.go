package summary

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// conditionOfDefinition puts the condition skerry.dev/Synced on a definition that targets refuse, or takes
// it off. The status of a definition is the space's own: all other conditions of it stay. It is called
// when the annotation skerry.dev/refused is about to change, which says the same, and is written after it.
func (s *Summary) conditionOfDefinition(ctx context.Context, at placement.Located, refused string) error {
	k := at.Key
	s.mu.Lock()
	says, is := s.extra[k][v1alpha1.ConditionObjectSynced]
	before := s.annotated[k]
	s.mu.Unlock()
	if k.Class() != store.ClassCRD || before.refused == refused {
		return nil
	}
	apiVersion, uid := cmp.Or(at.APIVersion, before.apiVersion), cmp.Or(at.UID, before.uid) // it has left its targets
	o, err := s.cfg.API.Get(ctx, k, apiVersion)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read definition %s: %w", k, err)
	}
	conditions := []any{} // none of them is no list
	for _, c := range fields.List(fields.Map(o, "status"), "conditions") {
		if one, _ := c.(map[string]any); one["type"] != v1alpha1.ConditionObjectSynced {
			conditions = append(conditions, c)
		}
	}
	if is {
		conditions = append(conditions, says.json())
	}
	meta := fields.Map(o, "metadata")
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": uid, "resourceVersion": meta["resourceVersion"]},
		"status":   map[string]any{"conditions": conditions},
	})
	if err != nil {
		return fmt.Errorf("encode the conditions of %s: %w", k, err)
	}
	if _, err := s.cfg.API.Patch(ctx, k, apiVersion, "status", patch); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("write the conditions of %s: %w", k, err)
	}
	return nil
}

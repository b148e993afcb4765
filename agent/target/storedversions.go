package target

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// StoreAnew has the target store an object again, as it is: in the present storage version of its
// kind. The answer is a conflict if another object has taken its name.
func (c *Client) StoreAnew(ctx context.Context, r Resource, live *Object) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": live.Metadata.UID}})
	if err != nil {
		return fmt.Errorf("encode an object's UID: %w", err)
	}
	path := r.Path(live.Metadata.Namespace, live.Metadata.Name)
	_, err = c.call(ctx, http.MethodPatch, path, url.Values{"fieldManager": {FieldManager}}, mergeType, body, nil)
	return err
}

// SetStoredVersions says in the status of a CustomResourceDefinition in which versions its objects may be
// stored. The answer is a conflict if it has changed since it was read.
func (c *Client) SetStoredVersions(ctx context.Context, r Resource, definition *Object, versions []string) error {
	m := definition.Metadata
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": m.UID, "resourceVersion": m.ResourceVersion},
		"status":   map[string]any{"storedVersions": versions},
	})
	if err != nil {
		return fmt.Errorf("encode stored versions: %w", err)
	}
	query := url.Values{"fieldManager": {FieldManager}}
	_, err = c.call(ctx, http.MethodPatch, r.Path("", m.Name)+"/status", query, mergeType, body, nil)
	return err
}

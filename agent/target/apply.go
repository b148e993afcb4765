package target

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// Applying says on what condition an object is applied. Where the condition does not hold the answer is a conflict, and nothing changes.
type Applying struct {
	// UID that the object must have. Empty: there must be no object of this name, so that nobody else's is ever changed.
	UID string
}

// neverGiven is a resourceVersion that no object ever has. An API server compares the one of an apply with that of the object that is
// there, and does not look at it when it makes the object: create-or-conflict, in one request.
const neverGiven = "1"

// Apply writes one object by server-side apply, with force. It tells whether the object was created.
func (c *Client) Apply(ctx context.Context, r Resource, namespace, name string, body []byte, on Applying) (*Object, bool, error) {
	condition := map[string]string{"uid": on.UID}
	if on.UID == "" {
		condition = map[string]string{"resourceVersion": neverGiven}
	}
	body, err := withMetadata(body, condition)
	if err != nil {
		return nil, false, err
	}
	query := url.Values{"fieldManager": {FieldManager}, "force": {"true"}}
	o := &Object{}
	code, err := c.call(ctx, http.MethodPatch, r.path(namespace, name), query, applyType, body, o)
	return o, code == http.StatusCreated, err
}

// withMetadata sets fields of metadata. Neither uid nor resourceVersion is ever recorded as an owned field.
func withMetadata(body []byte, set map[string]string) ([]byte, error) {
	var object, metadata map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return nil, fmt.Errorf("decode desired object: %w", err)
	}
	if err := json.Unmarshal(object["metadata"], &metadata); err != nil {
		return nil, fmt.Errorf("decode desired metadata: %w", err)
	}
	for field, value := range set {
		metadata[field], _ = json.Marshal(value) // a string always encodes
	}
	raw, err := json.Marshal(metadata)
	if err != nil {
		return nil, fmt.Errorf("encode desired metadata: %w", err)
	}
	object["metadata"] = raw
	return json.Marshal(object)
}

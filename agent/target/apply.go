package target

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// Applying is the condition on which an object is applied. If it is not met, the answer is a
// conflict, and nothing changes.
type Applying struct {
	// UID that the object must have. Empty: no object may have this name, so that a foreign one is
	// never changed.
	UID string
	// ResourceVersion that the object must have; empty where any will do.
	ResourceVersion string
	// Yield leaves fields of other managers to them: the answer is a conflict that names them.
	// Otherwise the fields become ours.
	Yield bool
	// Unmarked leaves the label of the site out.
	Unmarked bool
}

// neverGiven is a resourceVersion that no object ever has. An API server compares that of an apply
// with the existing object's, and ignores it when it creates the object. So one request creates or
// conflicts.
const neverGiven = "1"

// Apply writes one object by server-side apply. It reports whether the object was created.
func (c *Client) Apply(
	ctx context.Context,
	r Resource,
	namespace, name string,
	body []byte,
	on Applying,
) (*Object, bool, error) {
	o, created, _, err := c.ApplyCompared(ctx, r, namespace, name, body, on)
	return o, created, err
}

// ApplyCompared is Apply that also returns the whole answer, for Compare.
func (c *Client) ApplyCompared(
	ctx context.Context,
	r Resource,
	namespace, name string,
	body []byte,
	on Applying,
) (o *Object, created bool, answer []byte, err error) {
	condition := map[string]string{}
	switch {
	case on.UID == "":
		condition["resourceVersion"] = neverGiven
	case on.ResourceVersion != "":
		condition["resourceVersion"] = on.ResourceVersion
		fallthrough
	default:
		condition["uid"] = on.UID
	}
	site := c.site()
	if on.Unmarked {
		site = ""
	}
	body, err = withMetadata(body, condition, site)
	if err != nil {
		return nil, false, nil, err
	}
	query := url.Values{"fieldManager": {FieldManager}, "force": {strconv.FormatBool(!on.Yield)}}
	var raw json.RawMessage
	code, err := c.call(ctx, http.MethodPatch, r.Path(namespace, name), query, applyType, body, &raw)
	if refusesRepeated(err) {
		raw, code, err = (&repeatedApply{c, r, namespace, name, query}).write(ctx, body, err)
	}
	o = &Object{}
	if err == nil {
		if err = json.Unmarshal(raw, o); err != nil {
			err = fmt.Errorf("decode what was applied of %s %s/%s: %w", r, namespace, name, err)
		}
	}
	return o, code == http.StatusCreated, raw, err
}

// Would returns what the object with this UID would be after an apply, in full. Nothing changes.
func (c *Client) Would(
	ctx context.Context,
	r Resource,
	namespace, name string,
	body []byte,
	uid string,
) (map[string]any, error) {
	answer, err := c.WouldAnswer(ctx, r, namespace, name, body, uid)
	if err != nil {
		return nil, err
	}
	whole := map[string]any{}
	if err := json.Unmarshal(answer, &whole); err != nil {
		return nil, fmt.Errorf("decode what would be of %s %s/%s: %w", r, namespace, name, err)
	}
	return whole, nil
}

// WouldAnswer is Would that returns what the target has written, for Compare.
func (c *Client) WouldAnswer(
	ctx context.Context,
	r Resource,
	namespace, name string,
	body []byte,
	uid string,
) (answer []byte, err error) {
	body, err = withMetadata(body, map[string]string{"uid": uid}, "")
	if err != nil {
		return nil, err
	}
	query := url.Values{"fieldManager": {FieldManager}, "force": {"true"}, "dryRun": {"All"}}
	var raw json.RawMessage
	_, err = c.call(ctx, http.MethodPatch, r.Path(namespace, name), query, applyType, body, &raw)
	if !refusesRepeated(err) {
		return raw, err
	}
	would, _, err := (&repeatedApply{c, r, namespace, name, query}).would(ctx, body, err)
	if err != nil {
		return nil, err
	}
	return json.Marshal(would)
}

// withMetadata sets fields of metadata, and the label of the site if it is known. Neither uid nor
// resourceVersion is ever recorded as an owned field.
func withMetadata(body []byte, set map[string]string, site string) ([]byte, error) {
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
	if site != "" {
		labels := map[string]string{}
		if given := metadata["labels"]; given != nil {
			if err := json.Unmarshal(given, &labels); err != nil {
				return nil, fmt.Errorf("decode desired labels: %w", err)
			}
		}
		labels[LabelSite] = site
		metadata["labels"], _ = json.Marshal(labels) // strings always encode
	}
	raw, err := json.Marshal(metadata)
	if err != nil {
		return nil, fmt.Errorf("encode desired metadata: %w", err)
	}
	object["metadata"] = raw
	return json.Marshal(object)
}

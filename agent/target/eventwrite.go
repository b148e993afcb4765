package target

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Involved is what an Event is about, in the names of the target. A Namespace has its own name in
// Namespace, too, so that its Events are in it.
type Involved struct{ APIVersion, Kind, Namespace, Name, UID string }

// Recorded is an Event that the agent writes. Its namespace is that of what it is about.
type Recorded struct {
	About                 Involved
	Name                  string
	Type, Reason, Message string
	First, Last           time.Time
	// Count is how often it was written, from 1.
	Count int
	// Component is who says it, FieldManager where it is empty: what that says is not reported.
	Component string
}

var eventsResource = Resource{Version: "v1", Plural: "events"}

// RecordEvent writes an Event. One of this name that exists stays as it is when Count is 1; else it
// gets Count and Last, and the target keeps it for longer.
func (c *Client) RecordEvent(ctx context.Context, e Recorded) error {
	if e.Count > 1 {
		err := c.repeatEvent(ctx, e)
		if !apierrors.IsNotFound(err) {
			return err
		}
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata": map[string]any{"name": e.Name, "namespace": e.About.Namespace},
		"involvedObject": map[string]any{"apiVersion": e.About.APIVersion, "kind": e.About.Kind,
			"namespace": e.About.Namespace, "name": e.About.Name, "uid": e.About.UID},
		"type": e.Type, "reason": e.Reason, "message": e.Message,
		"source":             map[string]any{"component": cmp.Or(e.Component, FieldManager)},
		"reportingComponent": cmp.Or(e.Component, FieldManager),
		"firstTimestamp":     eventTime(e.First), "lastTimestamp": eventTime(e.Last), "count": e.Count,
	})
	if err != nil {
		return fmt.Errorf("encode an Event: %w", err)
	}
	_, _, err = c.Apply(ctx, eventsResource, e.About.Namespace, e.Name, body, Applying{Unmarked: true})
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

func (c *Client) repeatEvent(ctx context.Context, e Recorded) error {
	body, err := json.Marshal(map[string]any{"count": e.Count, "lastTimestamp": eventTime(e.Last)})
	if err != nil {
		return fmt.Errorf("encode an Event: %w", err)
	}
	_, err = c.call(ctx, http.MethodPatch, eventsResource.Path(e.About.Namespace, e.Name),
		url.Values{"fieldManager": {FieldManager}}, mergeType, body, nil)
	return err
}

func eventTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// How long a worker waits for a CustomResourceDefinition to be served before it plans a retry, and
// how often it looks.
const (
	establishTimeout = 10 * time.Second
	establishPoll    = 20 * time.Millisecond
)

// established waits until the target serves the kind, and wakes its objects.
func (a *Applier) established(ctx context.Context, t *task) error {
	deadline := time.Now().Add(establishTimeout)
	for {
		live, err := t.client.Get(ctx, t.resource, "", t.Key.Name, false)
		if err != nil {
			return fmt.Errorf("wait for %s to be established: %w", t.Key.Name, err)
		}
		if conditionTrue(live.Status, "Established") {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: the CustomResourceDefinition is not established yet", target.ErrNotServed)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(establishPoll):
		}
	}
	a.queue.kick(func(other store.Key) bool {
		return other.Resource+"."+other.Group == t.Key.Name
	})
	return nil
}

func conditionTrue(status json.RawMessage, kind string) bool {
	var s struct {
		Conditions []struct{ Type, Status string } `json:"conditions"`
	}
	if json.Unmarshal(status, &s) != nil {
		return false
	}
	for _, c := range s.Conditions {
		if c.Type == kind {
			return c.Status == "True"
		}
	}
	return false
}

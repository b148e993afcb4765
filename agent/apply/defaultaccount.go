package apply

import (
	"context"
	"encoding/json"
	"fmt"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// Every namespace of a cluster has a ServiceAccount named default, and its Pods have it unless they name
// another one. A space says of it by which Secrets Pods pull images, and whether they get a token. These
// fields are written to the account that is there. It is never deleted: the fields are taken off again.

// takeOffAccount takes off the default ServiceAccount of a namespace what its space said of it.
func takeOffAccount(
	ctx context.Context, a *Applier, c *target.Client, e store.Entry, at store.Key, r inventory.Record,
) error {
	resource := target.Of(e.Key, r.APIVersion)
	live, done, err := a.ours(ctx, c, resource, at, r)
	switch {
	case done != "":
		return a.finish(ctx, e, done)
	case err != nil:
		return err
	}
	body, err := json.Marshal(map[string]any{"apiVersion": live.APIVersion, "kind": live.Kind,
		"metadata": map[string]any{"name": at.Name, "namespace": at.Namespace}})
	if err != nil {
		return fmt.Errorf("encode a ServiceAccount: %w", err)
	}
	nothing := target.Applying{UID: live.Metadata.UID, Unmarked: true}
	writer := a.Gate.Accounts.Writer(c, e.Key)
	if _, _, err = writer.Apply(ctx, resource, at.Namespace, at.Name, body, nothing); err != nil {
		return fmt.Errorf("take off what was applied: %w", err)
	}
	return a.finish(ctx, e, "its fields were taken off")
}

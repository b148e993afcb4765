package apply

import (
	"context"
	"fmt"

	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// mountsInline refuses Pods with volumes of CSI drivers that the site has not opened to Pods of their
// level.
func (a *Applier) mountsInline(ctx context.Context, t *task, p *policy.Policy) error {
	for _, driver := range policy.InlineDrivers(kindOf(t.Key), t.Body) {
		if p.InlineDriver(t.Key.Space, driver, "") == nil {
			continue // whatever the driver is
		}
		found, err := a.find(ctx, t.client, csiDrivers, store.Key{Name: driver}, true)
		if err != nil && !isNotServed(err) {
			return fmt.Errorf("look up CSIDriver %s: %w", driver, err)
		}
		profile := ""
		if found != nil {
			profile = found.Metadata.Labels[policy.InlineProfile]
		}
		if err := p.InlineDriver(t.Key.Space, driver, profile); err != nil {
			return err
		}
	}
	return nil
}

var csiDrivers = target.Resource{Group: "storage.k8s.io", Version: "v1", Plural: "csidrivers"}

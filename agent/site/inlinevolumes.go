package site

import (
	"context"
	"fmt"

	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// mountsInline refuses Pods with volumes of CSI drivers that the site has not opened to Pods of their
// level.
func mountsInline(ctx context.Context, o *Object, p *policy.Policy) error {
	for _, driver := range policy.InlineDrivers(o.kind(), o.Body) {
		if p.InlineDriver(o.Key.Space, driver, "") == nil {
			continue // whatever the driver is
		}
		found, err := target.Find(ctx, o.Client, csiDrivers, store.Key{Name: driver}, true)
		if err != nil && !isNotServed(err) {
			return fmt.Errorf("look up CSIDriver %s: %w", driver, err)
		}
		profile := ""
		if found != nil {
			profile = found.Metadata.Labels[policy.InlineProfile]
		}
		if err := p.InlineDriver(o.Key.Space, driver, profile); err != nil {
			return err
		}
	}
	return nil
}

var csiDrivers = target.Resource{Group: "storage.k8s.io", Version: "v1", Plural: "csidrivers"}

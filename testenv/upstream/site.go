package upstream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"skerry.dev/skerry/testenv/drive"
)

// withSite runs the specs that need a site, in one space of a center of its own: the spaces of the
// other one would send what is left in them to the site, too.
func (r *run) withSite(ctx context.Context) (err error) {
	cluster := fmt.Sprintf("conformance-%d", os.Getpid())
	out, err := r.Site.Run(ctx, r.Site.Testenv, "up", "--kind", "simulated", cluster)
	defer func() {
		_, down := r.Site.Run(context.WithoutCancel(ctx), r.Site.Testenv, "down", cluster)
		err = errors.Join(err, down)
	}()
	if err != nil {
		return err
	}
	without := r.center
	defer func() { r.center = without }()
	if r.center, err = r.StartCenter(ctx, "center-with-site", ""); err != nil {
		return err
	}
	defer func() {
		r.center.Stop()
		err = errors.Join(err, os.Rename(r.center.Log, filepath.Join(r.logs, "center-with-site.log")))
	}()
	// A spec deletes most of what there is on the site, which an agent would ask about first.
	agent, err := r.StartAgent(ctx, r.center, "site", drive.LastLine(out), "--max-delete-share", "100")
	if err != nil {
		return err
	}
	defer func() {
		agent.Stop()
		err = errors.Join(err, os.Rename(agent.Log, filepath.Join(r.logs, "agent.log")))
	}()
	return r.specsOnSite(ctx)
}

// specsOnSite runs the specs that need a site in one space of the present center.
func (r *run) specsOnSite(ctx context.Context) error {
	return r.inSpaces(ctx, "specs with a site", spacesOf("site", 1), func(d *Declared) []string { return d.WithSite })
}

package backup

import (
	"context"
	"os"
	"path/filepath"

	"skerry.dev/skerry/store/restore"
)

// intoDatastore restores into what the replicas of a center share.
type intoDatastore struct{ *RestoreOptions }

// look implements into.
func (d *intoDatastore) look(ctx context.Context) (held string, end func() error, err error) {
	step(d.Progress, "looking at the datastore")
	there, err := d.Into.Look(ctx)
	if err == nil {
		err = there.Allows(d.Replace)
	}
	return there.String(), func() error { return nil }, err
}

// room implements into. No data directory of a replica is written to: each takes the keys from the
// datastore.
func (d *intoDatastore) room() (string, error) { return os.MkdirTemp("", "skerry-restore-*") }

// fill implements into.
func (d *intoDatastore) fill(ctx context.Context, from string) (aside string, err error) {
	step(d.Progress, "writing to the datastore")
	o := restore.Options{Replace: d.Replace}
	if d.Progress != nil {
		o.Count = func(done, total int) { d.Progress.Count("keys written", done, total) }
	}
	return "", d.Into.Restore(
		ctx,
		filepath.Join(from, d.Database.File),
		filepath.Join(from, keysDir),
		o,
	)
}

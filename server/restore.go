package server

import (
	"context"
	"log/slog"

	"skerry.dev/skerry/store/kine"
	"skerry.dev/skerry/store/restore"
)

// restoredReplicas is the datastore of a center's replicas into which a backup is restored.
type restoredReplicas struct {
	datastore  kine.Config
	secretFile string
}

// Look implements backup.Datastore.
func (r *restoredReplicas) Look(ctx context.Context) (restore.There, error) {
	if _, err := newSharedKeys(
		nil,
		"",
		r.secretFile,
		slog.Default(),
	); err != nil { // before anything is done
		return restore.There{}, err
	}
	return kine.Look(ctx, r.datastore)
}

// Restore implements backup.Datastore. The replicas find the keys where the first one of a new
// center would put them.
func (r *restoredReplicas) Restore(
	ctx context.Context,
	file, keys string,
	o restore.Options,
) error {
	shared, err := newSharedKeys(nil, keys, r.secretFile, slog.Default())
	if err != nil {
		return err
	}
	packed, err := shared.pack()
	if err != nil {
		return err
	}
	o.Shared = map[string][]byte{sharedKeysName: shared.seal.Seal(nil, nil, packed, nil)}
	return kine.Restore(ctx, r.datastore, file, o)
}

package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"skerry.dev/skerry/store/etcd"
	"skerry.dev/skerry/store/restore"
)

// format is the version of the archive's layout. A reader refuses a newer one.
const format = 1

// Names in the archive.
const (
	manifestFile = "backup.json"
	sumsFile     = "SHA256SUMS"
)

// Manifest is what a backup says of itself.
type Manifest struct {
	Format int `json:"format"`
	// Version of the program that made it.
	Version string    `json:"version"`
	Made    time.Time `json:"made"`
	// Incarnation and Revision name the data: whose it is, and up to which write.
	Incarnation string `json:"incarnation"`
	Revision    int64  `json:"revision"`
	// Encryption names the keys that encrypt values of the database; HasKeys says that they are in
	// the backup. Otherwise it is worth nothing without them.
	Encryption []string `json:"encryption,omitempty"`
	HasKeys    bool     `json:"hasEncryptionKeys,omitempty"`
}

// Database is how a center's database is copied and looked at.
type Database struct {
	// File is its name in the data directory.
	File string
	// Snapshot writes a consistent copy of the database of a data directory to a new file, while a
	// center may run on it.
	Snapshot func(ctx context.Context, dir, to string) error
	// Shared is Snapshot of the datastore that the replicas of a center share at an endpoint.
	Shared func(ctx context.Context, endpoint string, files etcd.Files, to string) error
	// Replicas is that datastore, as the place of a restore. secretFile has the replicas' secret.
	Replicas func(endpoint string, files etcd.Files, secretFile string) Datastore
	// LockFile is the name of the file in a data directory that Lock locks.
	LockFile string
	// Lock takes a data directory as a center that runs does, and returns how to give it back.
	Lock func(dir string) (unlock func() error, err error)
	// Inspect tells whose data a copy holds, and up to which revision; an error is that it is not
	// sound.
	Inspect func(ctx context.Context, path string) (incarnation string, revision int64, err error)
	// Needs names the keys that encrypt values of a copy.
	Needs func(ctx context.Context, path string) ([]string, error)
	// Opens fails when neither the files of a data directory nor what is outside of it have those
	// keys.
	Opens func(ctx context.Context, path, dir string, outside Outside) error
}

// Datastore is what the replicas of a center share, as the place of a restore.
type Datastore interface {
	// Look tells what it holds.
	Look(ctx context.Context) (restore.There, error)
	// Restore writes what a database file holds, and the authorities' keys of a directory. Its
	// errors are those of package restore.
	Restore(ctx context.Context, file, keys string, o restore.Options) error
}

// Outside is where keys are that no data directory has.
type Outside struct{ KeyFile, ProviderConfig string }

// Errors of Restore.
var (
	// ErrNotABackup is returned for a file that is none, or of which a part is missing or changed.
	ErrNotABackup = errors.New("not a sound backup; take another one")
	// ErrNewer is returned for a backup that a newer version made.
	ErrNewer = errors.New("the backup was made by a newer version; restore it with that one")
	// ErrNoKey is returned for a backup whose encryption keys are missing, or are others.
	ErrNoKey = errors.New(
		"the backup cannot be restored without the keys that encrypt its Secrets; name them with --encryption-key-file " +
			"or --encryption-provider-config",
	)
	// ErrInUse is returned when the data directory holds something.
	ErrInUse = errors.New("the data directory is not empty; move it away, or name a new one with --data-dir, or have " +
		"what is in it moved aside with --replace")
	// ErrUnfinished is returned for a data directory in which a restore has broken off.
	ErrUnfinished = errors.New("the data directory holds a restore that was not finished; restore the backup again: " +
		"skerry center restore --replace")
	// ErrRelay is returned for a relay's backup that is to be shared by replicas.
	ErrRelay = errors.New("it is the backup of a relay, which has one replica; leave out --datastore-endpoint")
)

func readManifest(data []byte) (m Manifest, err error) {
	if err := json.Unmarshal(data, &m); err != nil || m.Format < 1 {
		return m, fmt.Errorf("%w: its %s cannot be read", ErrNotABackup, manifestFile)
	}
	if m.Format > format {
		return m, fmt.Errorf("%w (%s, format %d; this one reads up to %d)", ErrNewer, m.Version, m.Format, format)
	}
	return m, nil
}

package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
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
	// Inspect tells whose data a copy holds, and up to which revision; an error is that it is not
	// sound.
	Inspect func(ctx context.Context, path string) (incarnation string, revision int64, err error)
	// Needs names the keys that encrypt values of a copy.
	Needs func(ctx context.Context, path string) ([]string, error)
	// Opens fails when neither the files of a data directory nor what is outside of it have those
	// keys.
	Opens func(ctx context.Context, path, dir string, outside Outside) error
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
	ErrInUse = errors.New("the data directory is not empty; move it away, or name a new one with --data-dir")
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

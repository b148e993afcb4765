package server

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"skerry.dev/skerry/server/apiserver/encryption"
	"skerry.dev/skerry/server/pki"
	"skerry.dev/skerry/store/kine"
)

// CheckKeys reads the keys in a data directory and changes nothing. It returns until when the
// center's authority is valid.
func CheckKeys(dataDir string) (until time.Time, err error) {
	return pki.Check(filepath.Join(dataDir, "pki"))
}

// CheckEncryption reports whether the keys that a center on a data directory would use open what its
// database has encrypted. No center may run there. given and providerConfig are the values of the
// flags of EncryptionFlags. It changes nothing.
func CheckEncryption(ctx context.Context, dataDir, given, providerConfig string) (missing bool, err error) {
	stored, err := kine.ExamineValue(ctx, dataDir, encryption.RecordKey)
	if err != nil {
		return false, err
	}
	path, _ := keyFile(dataDir, given)
	err = encryption.Opens(ctx, stored, path, path, providerConfig)
	return errors.Is(err, encryption.ErrKey), err
}

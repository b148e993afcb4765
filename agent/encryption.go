package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"skerry.dev/skerry/store/bolt"
)

// The file of the keys that Secrets are encrypted with in agent.db, and the systemd credential that
// encrypts that file, if there is one.
const (
	sealFile       = "seal.keys"
	sealCredential = "skerry_seal-key"
)

// sealKeys returns the keys of a data directory; the first is made when there is none. A copy of
// the database alone reveals no secret.
func sealKeys(dir string) (*bolt.Keys, error) {
	var wrap []byte
	if credentials := os.Getenv("CREDENTIALS_DIRECTORY"); credentials != "" {
		var err error
		wrap, err = os.ReadFile(filepath.Join(credentials, sealCredential))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("read the credential %s: %w", sealCredential, err)
		}
	}
	path := filepath.Join(dir, sealFile)
	keys, err := bolt.OpenKeys(path, wrap)
	if errors.Is(err, bolt.ErrKeys) {
		return nil, fmt.Errorf("%w; restore the file, or remove it: Secrets are then sent again by the parent", err)
	}
	return keys, err
}

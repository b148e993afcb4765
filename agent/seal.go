package agent

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
)

// sealKey returns the key that Secrets are encrypted with in agent.db, which it makes the first time. It is a file of its own,
// mode 0600, so that a copy of the database alone tells no secret.
func sealKey(path string) ([]byte, error) {
	key, err := os.ReadFile(path)
	if err == nil && len(key) == 32 {
		return key, nil
	}
	if err == nil {
		return nil, fmt.Errorf("the seal key %s is damaged: it has %d bytes instead of 32; restore it, or start with an empty data directory", path, len(key))
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read seal key: %w", err)
	}
	key = make([]byte, 32)
	rand.Read(key) // never fails, see crypto/rand
	if err := writeOnce(path, key); err != nil {
		return nil, fmt.Errorf("write seal key: %w", err)
	}
	return key, nil
}

// writeOnce writes a new file durably: after a crash it is whole or not there.
func writeOnce(path string, data []byte) error {
	tmp := path + ".new"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return os.Rename(tmp, path)
}

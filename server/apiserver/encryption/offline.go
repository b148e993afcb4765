package encryption

import (
	"context"
	"errors"
	"os"
)

// Needs lists the keys that the values of a store need, as its record says (see RecordKey).
func Needs(stored []byte) ([]string, error) {
	r, err := readRecord(stored)
	return r.ids(), err
}

// Opens fails with ErrKey when a key file and an EncryptionConfiguration, each of which may be
// missing, do not have the keys that a record names. known is the key file as people know it, "" for
// one that is of this moment, such as one that was unpacked.
func Opens(ctx context.Context, stored []byte, keyFile, known, providerConfig string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r, err := readRecord(stored)
	if err != nil {
		return err
	}
	keys, err := readKeys(keyFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	p, err := readProviders(ctx, providerConfig)
	if err != nil {
		return err
	}
	return r.check(ctx, newState(keys, p), known)
}

package bolt

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"skerry.dev/skerry/store"
)

// Secrets are sealed: their bodies are encrypted with AES-256-GCM under a random nonce each, bound
// to the key that they are stored under, after the number of the sealing key (4 bytes). The keys
// are in a file of their own (Keys). bbolt keeps the bytes of freed pages, so what was removed is
// made unreadable by rotation: what stays is sealed under a new key, and the old key is destroyed.

// sensitive tells what is sealed: Secrets, and the reports of those that were born at a target.
func sensitive(k store.Key) bool {
	return k.Resource == "secrets" && (k.Group == "" || k.Group == store.UpsyncGroup)
}

const sealNumberBytes = 4

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil || len(key) != keyBytes {
		return nil, fmt.Errorf("a seal key of %d bytes, want %d", len(key), keyBytes)
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// seal encrypts a stored body under the newest key.
func (k *Keys) seal(of store.Key, stored []byte) []byte {
	newest := k.newest()
	return newest.aead.Seal(binary.BigEndian.AppendUint32(nil, newest.Number), nil, stored,
		[]byte(of.Encode()))
}

// open is the inverse of seal.
func (k *Keys) open(of store.Key, sealed []byte) ([]byte, error) {
	if k == nil {
		return nil, fmt.Errorf("%w: %s, and no keys are given", ErrSealed, of)
	}
	if len(sealed) < sealNumberBytes {
		return nil, fmt.Errorf("%w: the sealed body of %s", ErrCorrupt, of)
	}
	number := binary.BigEndian.Uint32(sealed)
	key, ok := k.number(number)
	if !ok {
		return nil, fmt.Errorf("%w: %s, key number %d", ErrSealed, of, number)
	}
	body, err := key.aead.Open(nil, nil, sealed[sealNumberBytes:], []byte(of.Encode()))
	if err != nil {
		return nil, fmt.Errorf("%w: the sealed body of %s does not open with its key", ErrCorrupt,
			of)
	}
	return body, nil
}

// keyShred is there while freed pages may hold sealed bodies that were removed, under a key that
// still exists.
var keyShred = []byte("shred")

// shredded notes that a record is leaving its page.
func (f *File) shredded(tx *bbolt.Tx, old record) error {
	if old.flags&flagSealed == 0 || tx.Bucket(bucketMeta).Get(keyShred) != nil {
		return nil
	}
	return tx.Bucket(bucketMeta).Put(keyShred, []byte{1})
}

// keyLife is how long a sealing key is used at most.
const keyLife = 365 * 24 * time.Hour

// RotationDue reports whether the sealing key should be replaced: it is old, or something that it
// sealed was removed or replaced.
func (f *File) RotationDue() (bool, error) {
	if f.keys == nil || f.readOnly {
		return false, nil
	}
	shred := false
	err := f.view(func(tx *bbolt.Tx) error {
		shred = tx.Bucket(bucketMeta).Get(keyShred) != nil
		return nil
	})
	return shred || time.Since(f.keys.newest().Since) > keyLife, err
}

// RotateKeys seals everything under a new key and destroys the old ones: what was sealed before and
// is in a freed page, or in a copy of the file, can no longer be read. A crash in between leaves
// both keys; the next rotation goes on.
func (f *File) RotateKeys() error {
	if f.keys == nil {
		return nil
	}
	f.rotating.Lock()
	defer f.rotating.Unlock()
	if err := f.keys.add(); err != nil {
		return fmt.Errorf("rotate the seal key: %w", err)
	}
	err := f.update(func(tx *bbolt.Tx) error {
		names, err := copies(tx)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := f.reseal(tx.Bucket([]byte(name))); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketMeta).Delete(keyShred)
	})
	if err != nil {
		return fmt.Errorf("rotate the seal key: %w", err)
	}
	f.swap.Lock() // nobody is reading a snapshot from before
	err = f.keys.dropOld()
	f.swap.Unlock()
	if err != nil {
		return fmt.Errorf("destroy the old seal key: %w", err)
	}
	f.log.Info("seal key rotated", "path", f.path, "number", f.keys.newest().Number)
	return nil
}

// reseal seals what is sealed in a bucket under the newest key. What no key opens is lost already;
// its value is asked for anew.
func (f *File) reseal(bucket *bbolt.Bucket) error {
	type put struct{ key, value []byte }
	var puts []put
	err := bucket.ForEach(func(k, v []byte) error {
		r, err := decodeRecord(k, v)
		if err != nil || r.flags&flagSealed == 0 || len(r.stored) == 0 {
			return err
		}
		opened, err := f.keys.open(r.Key, r.stored)
		if err != nil {
			return err
		}
		r.stored = f.keys.seal(r.Key, opened)
		puts = append(puts, put{append([]byte(nil), k...), r.encode()})
		return nil
	})
	for _, p := range puts {
		if err == nil {
			err = bucket.Put(p.key, p.value)
		}
	}
	return err
}

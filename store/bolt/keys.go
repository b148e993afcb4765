package bolt

import (
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// keyBytes is the length of a sealing key.
const keyBytes = 32

// wrapped begins a file of keys that is itself encrypted.
var wrapped = []byte("skerry wrapped keys 1\n")

// ErrKeys is returned by OpenKeys for a file of keys that cannot be used.
var ErrKeys = errors.New("the seal keys cannot be used")

// Keys are what Secrets in a File are encrypted with: a small file of mode 0600 beside it, or on
// another medium, so that a copy of the database alone tells no secret. The newest key seals; older
// ones are there only while a rotation is under way.
type Keys struct {
	path string
	wrap []byte

	mu   sync.Mutex
	list []sealKey // ascending numbers
}

type sealKey struct {
	Number uint32    `json:"number"`
	Key    []byte    `json:"key"`
	Since  time.Time `json:"since"`
	aead   cipher.AEAD
}

// OpenKeys reads the keys, or makes the first. With a wrap, any secret that is kept elsewhere (a
// systemd credential), the file is encrypted by it; one that was not yet is from now on. It returns
// ErrKeys when the file is damaged, or was wrapped by another secret.
func OpenKeys(path string, wrap []byte) (*Keys, error) {
	k := &Keys{path: path, wrap: wrap}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if err := k.first(); err != nil {
			return nil, fmt.Errorf("make the seal keys: %w", err)
		}
		return k, nil
	case err != nil:
		return nil, fmt.Errorf("read the seal keys: %w", err)
	}
	if err := k.decode(data); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrKeys, path, err)
	}
	if wrap != nil && !bytes.HasPrefix(data, wrapped) {
		if err := k.save(k.list); err != nil {
			return nil, fmt.Errorf("wrap the seal keys: %w", err)
		}
	}
	return k, nil
}

// oldKeyFile is where a key was kept before there were several: 32 bytes, which is number 0.
const oldKeyFile = "seal.key"

func (k *Keys) first() error {
	old, err := os.ReadFile(filepath.Join(filepath.Dir(k.path), oldKeyFile))
	if err == nil && len(old) == keyBytes {
		return k.replace([]sealKey{{Number: 0, Key: old, Since: time.Now().UTC()}})
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var start [4]byte
	rand.Read(start[:]) // so that a number never means a key of another life
	return k.replace([]sealKey{newKey(binary.BigEndian.Uint32(start[:])>>1 + 1)})
}

func newKey(number uint32) sealKey {
	key := make([]byte, keyBytes)
	rand.Read(key) // never fails, see crypto/rand
	return sealKey{Number: number, Key: key, Since: time.Now().UTC()}
}

func (k *Keys) newest() sealKey {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.list[len(k.list)-1]
}

func (k *Keys) number(n uint32) (sealKey, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range k.list {
		if key.Number == n {
			return key, true
		}
	}
	return sealKey{}, false
}

// add makes a new key, which seals from now on.
func (k *Keys) add() error {
	k.mu.Lock()
	list := append([]sealKey(nil), k.list...)
	k.mu.Unlock()
	return k.replace(append(list, newKey(list[len(list)-1].Number+1)))
}

// dropOld destroys all keys but the newest.
func (k *Keys) dropOld() error {
	if err := k.replace([]sealKey{k.newest()}); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(filepath.Dir(k.path), oldKeyFile)); err != nil &&
		!errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// replace makes a list of keys durable, and then uses it.
func (k *Keys) replace(list []sealKey) error {
	for i := range list {
		var err error
		if list[i].aead, err = newAEAD(list[i].Key); err != nil {
			return err
		}
	}
	if err := k.save(list); err != nil {
		return err
	}
	k.mu.Lock()
	k.list = list
	k.mu.Unlock()
	return nil
}

func (k *Keys) save(list []sealKey) error {
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	if k.wrap != nil {
		aead, err := k.wrapper()
		if err != nil {
			return err
		}
		data = aead.Seal(bytes.Clone(wrapped), nil, data, wrapped)
	}
	return Replace(k.path, data)
}

func (k *Keys) decode(data []byte) error {
	if sealed, ok := bytes.CutPrefix(data, wrapped); ok {
		if k.wrap == nil {
			return errors.New("they are encrypted by a credential that is not given; start the " +
				"service with it (systemd: LoadCredential=)")
		}
		aead, err := k.wrapper()
		if err != nil {
			return err
		}
		if data, err = aead.Open(nil, nil, sealed, wrapped); err != nil {
			return errors.New("they do not open with the credential that is given")
		}
	}
	if err := json.Unmarshal(data, &k.list); err != nil {
		return fmt.Errorf("damaged: %w", err)
	}
	if len(k.list) == 0 {
		return errors.New("damaged: no key in it")
	}
	for i := range k.list {
		if i > 0 && k.list[i].Number <= k.list[i-1].Number {
			return errors.New("damaged: numbers out of order")
		}
		var err error
		if k.list[i].aead, err = newAEAD(k.list[i].Key); err != nil {
			return fmt.Errorf("damaged: %w", err)
		}
	}
	return nil
}

func (k *Keys) wrapper() (cipher.AEAD, error) {
	key := sha256.Sum256(append([]byte("skerry seal keys\n"), k.wrap...))
	return newAEAD(key[:])
}

// Replace writes a file durably, mode 0600: after a crash at any moment the old content or the new
// is there.
func Replace(path string, data []byte) error {
	tmp := path + ".new"
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes what was renamed in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

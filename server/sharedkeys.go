package server

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"skerry.dev/skerry/server/pki"
	"skerry.dev/skerry/tunnel/keyfile"
)

// sharedKeys is how the replicas of a center have the same keys: the directory pki as one value in
// the datastore, sealed with a secret that every replica is given and the datastore is not. The
// leader writes each step of a rotation before anybody hears of it, the others follow.
type sharedKeys struct {
	store keeper
	dir   string
	seal  cipher.AEAD
	log   *slog.Logger
	// first adds to the directory of a new center, before it is shared; nil adds nothing.
	first func() error

	mu     sync.Mutex
	there  []byte // the sealed keys that the datastore has, as far as is known
	packed []byte // what is in them
}

// keeper is the part of the datastore that replicas share. Replace is refused when old is not what
// is there any more.
type keeper interface {
	Keep(ctx context.Context, name string, value []byte) ([]byte, error)
	Replace(ctx context.Context, name string, old, value []byte) error
	Kept(ctx context.Context, name string) ([]byte, error)
}

const (
	sharedKeysName = "pki"
	// sharedKeysPause is how often the keys are compared.
	sharedKeysPause = 5 * time.Second
	// shortestSecret is the fewest bytes that a secret may have.
	shortestSecret = 32
)

// ErrSecret is returned when the secret of the replicas cannot be used.
var ErrSecret = errors.New("--datastore-secret-file: not the secret that the other replicas of this center have")

func newSharedKeys(store keeper, dir, secretFile string, log *slog.Logger) (*sharedKeys, error) {
	if err := keyfile.Protect(log, secretFile); err != nil {
		return nil, err
	}
	secret, err := os.ReadFile(secretFile)
	if err != nil {
		return nil, fmt.Errorf("read the secret of the replicas: %w", err)
	}
	if secret = bytes.TrimSpace(secret); len(secret) < shortestSecret {
		return nil, fmt.Errorf(
			"--datastore-secret-file %s: at least %d bytes; make one with: openssl rand -hex 32",
			secretFile,
			shortestSecret,
		)
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "skerry shared keys", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	seal, err := cipher.NewGCMWithRandomNonce(block)
	return &sharedKeys{store: store, dir: dir, seal: seal, log: log}, err
}

// load makes the directory hold what the datastore has. The first replica of a new center makes the
// keys.
func (k *sharedKeys) load(ctx context.Context, o pki.Options) (*pki.PKI, error) {
	there, err := k.store.Kept(ctx, sharedKeysName)
	if err != nil {
		return nil, fmt.Errorf("read the replicas' keys: %w", err)
	}
	if there == nil {
		o.New = true
		if _, err := pki.Load(o); err != nil {
			return nil, err
		}
		if k.first != nil {
			if err := k.first(); err != nil {
				return nil, err
			}
		}
		packed, err := k.pack()
		if err != nil {
			return nil, err
		}
		if there, err = k.store.Keep(
			ctx,
			sharedKeysName,
			k.seal.Seal(nil, nil, packed, nil),
		); err != nil { // another replica may have been quicker
			return nil, fmt.Errorf("share this center's keys: %w", err)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.install(there); err != nil {
		return nil, err
	}
	o.New = false
	return pki.Load(o)
}

// pack is the directory as one value.
func (k *sharedKeys) pack() ([]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(k.dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if strings.HasPrefix(d.Name(), ".") {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.Type().IsRegular() {
			files[name], err = os.ReadFile(filepath.Join(k.dir, name))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read this center's keys: %w", err)
	}
	return json.Marshal(files) // sorted by name
}

// install makes the directory hold a sealed value.
func (k *sharedKeys) install(sealed []byte) error {
	packed, err := k.seal.Open(nil, nil, sealed, nil)
	if err != nil {
		return ErrSecret
	}
	if err := k.unpack(packed); err != nil {
		return err
	}
	k.there, k.packed = sealed, packed
	return nil
}

// unpack is the inverse of pack: new files first, and the one that says which of them count last.
func (k *sharedKeys) unpack(packed []byte) error {
	files := map[string][]byte{}
	if err := json.Unmarshal(packed, &files); err != nil {
		return fmt.Errorf("read the replicas' keys: %w", err)
	}
	for _, last := range []bool{false, true} {
		for name, data := range files {
			if (name == pki.StateFile) != last {
				continue
			}
			if !filepath.IsLocal(name) {
				return fmt.Errorf("the replicas' keys hold a file %q", name)
			}
			path := filepath.Join(k.dir, name)
			if had, err := os.ReadFile(path); err == nil && bytes.Equal(had, data) {
				continue
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), keyfile.Replace(path, data)); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow takes over what the leader changes, until ctx ends or this replica leads. changed is
// called when other keys count here.
func (k *sharedKeys) follow(ctx context.Context, won <-chan struct{}, keys *pki.PKI, changed func()) error {
	tick := time.NewTicker(sharedKeysPause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-won:
			return nil
		case <-tick.C:
		}
		if err := k.refresh(ctx, keys, changed); err != nil && ctx.Err() == nil {
			k.log.Warn("the keys of this replica may not be those of the others; it tries again", "err", err)
		}
	}
}

// refresh takes over what another replica has changed.
func (k *sharedKeys) refresh(ctx context.Context, keys *pki.PKI, changed func()) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.catchUp(ctx, keys, changed)
}

func (k *sharedKeys) catchUp(ctx context.Context, keys *pki.PKI, changed func()) error {
	sealed, err := k.store.Kept(ctx, sharedKeysName)
	if err != nil || sealed == nil {
		return err
	}
	before := k.packed
	if err := k.install(sealed); err != nil || bytes.Equal(before, k.packed) {
		return err
	}
	if err := keys.Reload(); err != nil {
		return err
	}
	changed()
	return nil
}

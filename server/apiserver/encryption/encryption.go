package encryption

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/value"
)

// Config is the configuration of an Encryption.
type Config struct {
	// KeyFile holds the keys. Managed says that it is the center's own: it is made at the first
	// start and changed by rotations. Otherwise it is only read.
	KeyFile string
	Managed bool
	// ProviderConfig is the path of an upstream EncryptionConfiguration; empty means none.
	ProviderConfig string
	// Client reads and writes the store.
	Client *kubernetes.Client
	// Change wraps every change of a managed key file, so that all replicas get it or none. Settle
	// is how long until all of them use what was changed. Nil and 0 are for a center of one
	// replica.
	Change func(do func() error) error
	Settle time.Duration
	Log    *slog.Logger
}

// Encryption encrypts and decrypts values of the store.
type Encryption struct {
	Config
	now  atomic.Pointer[state]
	stop context.CancelFunc

	p providers
}

// kmsPatience is how long a start waits for a KMS.
const kmsPatience = 10 * time.Second

// Open reads the keys and compares them with the record. If stored values cannot be read with the
// keys it returns ErrKey, and changes nothing.
func Open(ctx context.Context, c Config) (_ *Encryption, err error) {
	if c.Change == nil {
		c.Change = func(do func() error) error { return do() }
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	e := &Encryption{Config: c, stop: stop}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	if e.p, err = readProviders(background, c.ProviderConfig); err != nil {
		return nil, err
	}
	stored, _, err := load(ctx, c.Client)
	if err != nil {
		return nil, err
	}
	if err := e.makeFirst(stored); err != nil {
		return nil, err
	}
	if err := e.Reload(); err != nil {
		return nil, err
	}
	if err := e.patiently(ctx, stored); err != nil {
		return nil, err
	}
	return e, e.note(ctx, e.now.Load())
}

// makeFirst makes the managed key file of a center that has encrypted nothing with one.
func (e *Encryption) makeFirst(stored record) error {
	if !e.Managed || e.p.of[secrets] != nil {
		return nil
	}
	for _, id := range stored.ids() {
		if len(id) > len(localPrefix) && id[:len(localPrefix)] == localPrefix {
			return nil
		}
	}
	return MakeKeyFile(e.KeyFile)
}

// patiently checks the record. A KMS that was started together with the center may need some time.
func (e *Encryption) patiently(ctx context.Context, stored record) error {
	for end := time.Now().Add(kmsPatience); ; {
		err := stored.check(ctx, e.now.Load(), e.KeyFile)
		if err == nil || len(e.p.health) == 0 || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// note adds what a state writes to the record. Nothing may be written with a state before that.
func (e *Encryption) note(ctx context.Context, s *state) error {
	for {
		stored, revision, err := load(ctx, e.Client)
		if err != nil {
			return err
		}
		next, changed, err := stored.with(ctx, s)
		if err != nil || !changed {
			return err
		}
		if err := save(ctx, e.Client, next, revision); !errors.Is(err, errConflict) {
			return err
		}
	}
}

// Reload reads the key file again, after another replica has changed it. Rotate must not run.
func (e *Encryption) Reload() error {
	keys, err := readKeys(e.KeyFile)
	if errors.Is(err, os.ErrNotExist) && e.Managed {
		keys, err = nil, nil // none is needed, or the record's check names it
	}
	if err != nil {
		return err
	}
	e.now.Store(newState(keys, e.p))
	return nil
}

// Close ends the connections to KMS plugins.
func (e *Encryption) Close() error {
	e.stop()
	return nil
}

// Health returns the health checks of the KMS plugins by name.
func (e *Encryption) Health() map[string]func() error {
	out := map[string]func() error{}
	for _, c := range e.p.health {
		out[c.Name()] = func() error {
			r, err := http.NewRequest(http.MethodGet, "/", nil)
			if err != nil {
				return err
			}
			return c.Check(r)
		}
	}
	return out
}

// TransformerForResource implements value.ResourceTransformers.
func (e *Encryption) TransformerForResource(gr schema.GroupResource) value.Transformer {
	return current{e, gr}
}

// Decrypt returns the decrypted form of a stored value of a resource.
func (e *Encryption) Decrypt(ctx context.Context, gr schema.GroupResource, key, data []byte) ([]byte, error) {
	out, _, err := e.now.Load().transformer(gr).TransformFromStorage(ctx, data, value.DefaultContext(key))
	if err != nil {
		return nil, fmt.Errorf("decrypt: %w", err)
	}
	return out, nil
}

// current is the transformer that encrypts a resource now.
type current struct {
	e  *Encryption
	gr schema.GroupResource
}

// TransformFromStorage implements value.Read.
func (c current) TransformFromStorage(ctx context.Context, data []byte, dc value.Context) ([]byte, bool, error) {
	return c.e.now.Load().transformer(c.gr).TransformFromStorage(ctx, data, dc)
}

// TransformToStorage implements value.Write.
func (c current) TransformToStorage(ctx context.Context, data []byte, dc value.Context) ([]byte, error) {
	return c.e.now.Load().transformer(c.gr).TransformToStorage(ctx, data, dc)
}

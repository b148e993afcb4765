package accounttokens

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/queue"
	"skerry.dev/skerry/server/spaceapi"
	"skerry.dev/skerry/store"
)

// API is how a Controller reads and changes the Secrets of the spaces.
type API interface {
	spaceapi.LiveGetter
	spaceapi.Patcher
	spaceapi.Deleter
}

// Issuer signs tokens.
type Issuer interface {
	// SecretToken returns a token of an account that ends with the account and with the Secret.
	SecretToken(ctx context.Context, account, secret Identity) (string, error)
}

// Identity is an object and its UID.
type Identity struct {
	Key store.Key
	UID string
}

// Config is what a Controller needs.
type Config struct {
	API    API
	Issuer Issuer
	// Bundle is what ca.crt says, as PEM.
	Bundle func() []byte
	Log    *slog.Logger
}

// Controller follows the writes of all spaces. It is a change handler of the kube API.
type Controller struct {
	cfg   Config
	queue queue.Queue[store.Key] // of Secrets

	mu sync.Mutex
	// accounts are the ServiceAccounts that Secrets name; secrets are the Secrets of each.
	accounts map[store.Key]store.Key
	secrets  map[store.Key]map[store.Key]bool
}

const workers = 2

// New returns a Controller. Run does its work.
func New(c Config) *Controller {
	return &Controller{
		cfg:      c,
		queue:    queue.NewFair(20*time.Millisecond, 30*time.Second, store.SpaceOf),
		accounts: map[store.Key]store.Key{},
		secrets:  map[store.Key]map[store.Key]bool{},
	}
}

func isSecret(k store.Key) bool  { return k.Group == "" && k.Resource == "secrets" }
func isAccount(k store.Key) bool { return k.Group == "" && k.Resource == "serviceaccounts" }

// accountOf returns the ServiceAccount that a Secret is for, false when it is for none. Users of the
// space are accounts, too: who may write Secrets would become any of them.
func accountOf(k store.Key, secret map[string]any) (store.Key, bool) {
	name := fields.String(fields.Map(secret, "metadata", "annotations"), corev1.ServiceAccountNameKey)
	if fields.String(secret, "type") != string(corev1.SecretTypeServiceAccountToken) ||
		k.Namespace == v1alpha1.UsersNamespace ||
		len(validation.IsDNS1123Subdomain(name)) > 0 {
		return store.Key{}, false
	}
	return store.Key{Space: k.Space, Resource: "serviceaccounts", Namespace: k.Namespace, Name: name}, true
}

// Reset takes everything that exists.
func (c *Controller) Reset(_ int64, all store.Listing) {
	c.mu.Lock()
	clear(c.accounts)
	clear(c.secrets)
	c.mu.Unlock()
	for w := range all.Objects(isSecret) {
		c.Apply(w)
	}
}

// Apply takes one write.
func (c *Controller) Apply(w store.Write) {
	switch {
	case isSecret(w.Key):
		account, is := accountOf(w.Key, w.Object)
		c.mu.Lock()
		c.noteLocked(w.Key, account, is)
		c.mu.Unlock()
		if is {
			c.queue.Add(w.Key)
		}
	case isAccount(w.Key):
		c.mu.Lock()
		for secret := range c.secrets[w.Key] {
			c.queue.Add(secret)
		}
		c.mu.Unlock()
	}
}

// noteLocked remembers whose Secret it is, or that it is nobody's.
func (c *Controller) noteLocked(secret, account store.Key, is bool) {
	if old, known := c.accounts[secret]; known && (!is || old != account) {
		delete(c.accounts, secret)
		if delete(c.secrets[old], secret); len(c.secrets[old]) == 0 {
			delete(c.secrets, old)
		}
	}
	if !is {
		return
	}
	c.accounts[secret] = account
	if c.secrets[account] == nil {
		c.secrets[account] = map[store.Key]bool{}
	}
	c.secrets[account][secret] = true
}

// Progress means nothing to it.
func (c *Controller) Progress(int64) {}

// Renew looks at all Secrets again: other authorities are trusted.
func (c *Controller) Renew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for secret := range c.accounts {
		c.queue.Add(secret)
	}
}

// Run fills and deletes Secrets until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	queue.Serve(ctx, c.queue, workers, c.reconcile, func(k store.Key, err error) {
		c.cfg.Log.Debug("token secret is not filled yet", "space", k.Space, "namespace", k.Namespace, "secret", k.Name,
			"err", err)
	})
	return nil
}

func (c *Controller) reconcile(ctx context.Context, k store.Key) error {
	secret, err := c.cfg.API.Live(ctx, k, "v1")
	if err != nil {
		return unlessGone(err)
	}
	accountKey, is := accountOf(k, secret)
	if !is || fields.String(fields.Map(secret, "metadata"), "deletionTimestamp") != "" {
		return nil
	}
	was := fields.String(fields.Map(secret, "metadata", "annotations"), corev1.ServiceAccountUIDKey)
	account, err := c.cfg.API.Live(ctx, accountKey, "v1")
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	uid := uidOf(account)
	switch {
	case was != "" && was != uid:
		return unlessGone(c.cfg.API.Delete(ctx, k, "v1", uidOf(secret)))
	case uid == "":
		return nil // it is looked at again when the account comes
	}
	return c.fill(ctx, Identity{accountKey, uid}, Identity{k, uidOf(secret)}, secret)
}

// fill writes what the Secret lacks. The patch has the Secret's UID, so that it never reaches a
// successor of the same name.
func (c *Controller) fill(ctx context.Context, account, secret Identity, obj map[string]any) error {
	have := fields.Map(obj, "data")
	want := map[string]any{
		corev1.ServiceAccountRootCAKey:    encoded(string(c.cfg.Bundle())),
		corev1.ServiceAccountNamespaceKey: encoded(secret.Key.Namespace),
	}
	lacks := fields.String(have, corev1.ServiceAccountTokenKey) == ""
	if lacks {
		token, err := c.cfg.Issuer.SecretToken(ctx, account, secret)
		if err != nil {
			return fmt.Errorf("sign a token for %s: %w", secret.Key, err)
		}
		want[corev1.ServiceAccountTokenKey] = encoded(token)
	}
	for name, v := range want {
		lacks = lacks || have[name] != v
	}
	if !lacks && fields.String(fields.Map(obj, "metadata", "annotations"), corev1.ServiceAccountUIDKey) == account.UID {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": secret.UID,
			"annotations": map[string]any{corev1.ServiceAccountUIDKey: account.UID}},
		"data": want,
	})
	if err != nil {
		return err
	}
	_, err = c.cfg.API.Patch(ctx, secret.Key, "v1", "", patch)
	return unlessGone(err)
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func uidOf(obj map[string]any) string { return fields.String(fields.Map(obj, "metadata"), "uid") }

// unlessGone drops the error of a Secret that is gone, or is another one: its own write is noticed.
func unlessGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

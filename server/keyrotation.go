package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/encryption"
	"skerry.dev/skerry/store"
)

// keyRotation rotates the keys that encrypt Secrets when an admin asks for it, and ends at a start
// the rotation that was cut off. The request and its outcome are a ConfigMap of root.
type keyRotation struct {
	keys   *encryption.Encryption
	api    func() (corev1client.ConfigMapInterface, error)
	prefix func(schema.GroupResource) string
	log    *slog.Logger
	asked  chan struct{} // holds one signal: the ConfigMap may say something new
}

func newKeyRotation(s *Server) *keyRotation {
	return &keyRotation{
		keys:   s.encrypted,
		prefix: s.api.StoredBelow,
		log:    s.cfg.Log.With("part", "encryption"),
		asked:  make(chan struct{}, 1),
		api: func() (corev1client.ConfigMapInterface, error) {
			c, err := corev1client.NewForConfig(s.asLeader(v1alpha1.RootSpace))
			if err != nil {
				return nil, err
			}
			return c.ConfigMaps(v1alpha1.EncryptionNamespace), nil
		},
	}
}

// Reset implements storage.ChangeHandler.
func (r *keyRotation) Reset(int64, store.Listing) { r.ask() }

// Apply implements storage.ChangeHandler.
func (r *keyRotation) Apply(w store.Write) {
	if w.Key == (store.Key{
		Space:     v1alpha1.RootSpace,
		Resource:  "configmaps",
		Namespace: v1alpha1.EncryptionNamespace,
		Name:      v1alpha1.EncryptionName,
	}) {
		r.ask()
	}
}

// Progress implements storage.ChangeHandler.
func (*keyRotation) Progress(int64) {}

func (r *keyRotation) ask() {
	select {
	case r.asked <- struct{}{}:
	default:
	}
}

// rotationPause is how long after a failure a rotation is tried again.
const rotationPause = 30 * time.Second

// Run rotates until ctx ends.
func (r *keyRotation) Run(ctx context.Context) error {
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.asked:
		case <-again:
		}
		again = nil
		if err := r.step(ctx); err != nil && ctx.Err() == nil {
			r.log.Error("what the center stores is not encrypted anew yet; it tries again", "err", err)
			again = time.After(rotationPause)
		}
	}
}

// step does what is asked for, and what was begun.
func (r *keyRotation) step(ctx context.Context) error {
	api, err := r.api()
	if err != nil {
		return err
	}
	request, done := "", ""
	if m, err := api.Get(ctx, v1alpha1.EncryptionName, metav1.GetOptions{}); err == nil {
		request, done = m.Data[v1alpha1.EncryptionRequestKey], m.Data[v1alpha1.EncryptionDoneKey]
	} else if !apierrors.IsNotFound(err) {
		return fmt.Errorf("read what is asked of the encryption: %w", err)
	}
	settled, err := r.keys.Settled(ctx)
	if err != nil || settled && request == done {
		return err
	}
	outcome, err := r.keys.Rotate(ctx, request != done, r.prefix)
	if err != nil {
		return err
	}
	r.log.Info("everything is encrypted with the newest keys", "rewritten", outcome.Rewritten, "keys", outcome.Writes)
	if request == "" {
		return nil
	}
	return recordOutcome(ctx, api, request, outcome)
}

// recordOutcome notes that a request is done.
func recordOutcome(
	ctx context.Context,
	api corev1client.ConfigMapInterface,
	request string,
	o encryption.Outcome,
) error {
	keys, err := json.Marshal(o.Writes)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"data": map[string]string{v1alpha1.EncryptionDoneKey: request,
		v1alpha1.EncryptionKeysKey: string(keys), v1alpha1.EncryptionRewrittenKey: fmt.Sprint(o.Rewritten)}})
	if err != nil {
		return err
	}
	_, err = api.Patch(ctx, v1alpha1.EncryptionName, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("tell that the rotation is done: %w", err)
	}
	return nil
}

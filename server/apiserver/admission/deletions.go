package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/store"
)

// deletionTTL is how long a record of a named deletion is kept. It must outlast a restart of the
// center, or the change of its leader: the tombstones in the feeds of a running center keep the
// word for themselves.
const deletionTTL = time.Hour

// NamedDeletions is the admission plugin that records which deletions a user asks for by the
// object's name. A site holds back deletions that are too many to be no mistake; what somebody
// named is none. Deletions of collections and of Spaces, and what the center itself deletes, are
// not recorded, but for what garbage collection removes because its owner was deleted by name.
type NamedDeletions struct {
	Store *kubernetes.Client
	Log   *slog.Logger
}

// Handles implements admission.Interface.
func (NamedDeletions) Handles(o admission.Operation) bool { return o == admission.Delete }

// Validate implements admission.ValidationInterface. It refuses nothing: an object without a record
// may be held at its site, and that is said there.
func (n NamedDeletions) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	old := metadata.Of(a.GetOldObject())
	if old == nil || a.IsDryRun() || a.GetSubresource() != "" {
		return nil
	}
	key := placedKey(ctx, a, old)
	// No annotation tells where Namespaces and definitions are.
	if old.GetAnnotations()[v1alpha1.AnnotationTargets] == "" && key.Class() == store.ClassOther ||
		key.Space == request.OwnSpace ||
		!n.asked(ctx, key.Space, old) {
		return nil
	}
	n.note(ctx, key, old)
	return nil
}

// Evicted records that a user asked for the end of a Pod that was placed by itself: an eviction
// names one. Admission sees the eviction alone, so whoever carries it out says so.
func (n NamedDeletions) Evicted(ctx context.Context, pod metav1.Object) {
	key := store.Key{
		Space: request.Space(ctx), Resource: "pods", Namespace: pod.GetNamespace(), Name: pod.GetName(),
	}
	n.note(ctx, key, pod)
}

// note records a deletion. Without the record its site may hold the deletion, and says so.
func (n NamedDeletions) note(ctx context.Context, key store.Key, old metav1.Object) {
	if err := n.record(ctx, key, string(old.GetUID())); err != nil {
		n.Log.Warn(
			"that a deletion was asked for is not recorded; its site may hold it",
			"key",
			key.String(),
			"err",
			err,
		)
	}
}

// asked reports whether a request deletes one object by its name, for a user or because a user
// deleted its owner.
func (n NamedDeletions) asked(ctx context.Context, space string, old metav1.Object) bool {
	info, ok := apirequest.RequestInfoFrom(ctx)
	if !ok || info.Verb != "delete" {
		return false
	}
	if !request.FromCenter(ctx) {
		return true
	}
	for _, owner := range old.GetOwnerReferences() {
		if r, err := n.Store.Client.Get(
			ctx,
			registrykey.Deletion(space, string(owner.UID)),
			clientv3.WithKeysOnly(),
		); err == nil &&
			len(r.Kvs) > 0 {
			return true
		}
	}
	return false
}

// record writes the record of a deletion. A second one for the same object changes nothing.
func (n NamedDeletions) record(ctx context.Context, key store.Key, uid string) error {
	value, err := json.Marshal(map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Deletion",
		"metadata": map[string]any{"name": uid}, "key": key})
	if err != nil {
		return err
	}
	lease, err := n.Store.Client.Grant(ctx, int64(deletionTTL/time.Second))
	if err != nil {
		return fmt.Errorf("limit the record's life: %w", err)
	}
	if _, err = n.Store.OptimisticPut(
		ctx,
		registrykey.Deletion(key.Space, uid),
		value,
		0,
		kubernetes.PutOptions{LeaseID: lease.ID},
	); err != nil {
		return fmt.Errorf("write the record: %w", err)
	}
	return nil
}

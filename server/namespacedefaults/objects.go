package namespacedefaults

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/store"
)

func isNamespace(k store.Key) bool { return k.Group == "" && k.Resource == "namespaces" }

func isAccount(k store.Key) bool {
	return k.Name == Account && k.Resource == "serviceaccounts" && k.Group == ""
}

func isRootCA(k store.Key) bool {
	return k.Name == RootCA && k.Resource == "configmaps" && k.Group == ""
}

func isAuthentication(k store.Key) bool {
	return v1alpha1.IsOfSystem(k.Group, k.Resource, k.Namespace, k.Name)
}

// current reports whether a ConfigMap, nil when it is gone, says what it should.
func (c *Controller) current(obj map[string]any) bool {
	data := fields.Map(obj, "data")
	return data[caKey] == string(c.cfg.Bundle())
}

// description is what a cluster says of kube-root-ca.crt.
const description = "Contains a CA bundle that can be used to verify the kube-apiserver when using " +
	"internal endpoints such as the internal service IP or kubernetes.default.svc. " +
	"No other usage is guaranteed across distributions of Kubernetes clusters."

// reconcile makes what a namespace lacks. A namespace that is gone, or going, lacks nothing.
func (c *Controller) reconcile(ctx context.Context, n namespace) error {
	if !c.cfg.Has(n.space) {
		return nil
	}
	account := store.Key{Space: n.space, Resource: "serviceaccounts", Namespace: n.name, Name: Account}
	if err := c.ensure(ctx, account, object(account, "v1", "ServiceAccount", "")); err != nil {
		return err
	}
	root := store.Key{Space: n.space, Resource: "configmaps", Namespace: n.name, Name: RootCA}
	bundle := object(root, "v1", "ConfigMap", description)
	bundle["data"] = map[string]any{caKey: string(c.cfg.Bundle())}
	if err := c.ensure(ctx, root, bundle); err != nil {
		return err
	}
	if n.name != metav1.NamespaceSystem {
		return nil
	}
	return c.authentication(ctx, n)
}

// object is one of the objects that a cluster makes; description may be empty.
func object(k store.Key, apiVersion, kind, description string) map[string]any {
	meta := map[string]any{"name": k.Name, "namespace": k.Namespace}
	if description != "" {
		meta["annotations"] = map[string]any{"kubernetes.io/description": description}
	}
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": meta}
}

// ensure makes an object, or gives it its data again. It does not look first: a cache may still
// show what has just been deleted, and a patch that changes nothing writes nothing.
func (c *Controller) ensure(ctx context.Context, k store.Key, obj map[string]any) error {
	apiVersion := fields.String(obj, "apiVersion")
	_, err := c.cfg.API.Create(ctx, k, apiVersion, obj)
	if data := obj["data"]; apierrors.IsAlreadyExists(err) && data != nil {
		var patch []byte
		if patch, err = json.Marshal(map[string]any{"data": data}); err != nil {
			return err
		}
		_, err = c.cfg.API.Patch(ctx, k, apiVersion, "", patch)
	}
	switch {
	case err == nil, apierrors.IsAlreadyExists(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil
	case apierrors.IsNotFound(err):
		return nil // the namespace, or the object: its deletion is noticed
	}
	return fmt.Errorf("make %s: %w", k, err)
}

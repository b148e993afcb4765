package admission

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"

	"skerry.dev/skerry/server/apiserver/request"
)

// Lifecycle refuses objects in a namespace that does not exist or is going away, and the deletion
// of namespaces that every space has. Upstream's plugin does it with one informer for one cluster;
// this one asks in the request's space.
type Lifecycle struct{ Namespaces NamespaceStore }

// NamespaceStore reads and creates the Namespaces of the space of a request.
type NamespaceStore interface {
	rest.Getter
	rest.Creater
}

// Handles implements admission.Interface.
func (*Lifecycle) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Delete
}

// Admit implements admission.MutationInterface: it runs before anything else is asked about the
// object.
func (l *Lifecycle) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if ofNamespace(a) {
		if a.GetOperation() == admission.Delete && isBootstrapNamespace(a.GetName()) {
			return admission.NewForbidden(a, errors.New("every space has this namespace; delete the space instead"))
		}
		return nil
	}
	if a.GetOperation() != admission.Create || a.GetNamespace() == "" ||
		a.GetResource().Group == "authorization.k8s.io" {
		return nil
	}
	ns, err := l.get(ctx, a.GetNamespace(), "0")
	if err != nil || ns.Status.Phase == api.NamespaceTerminating {
		// The cache may be behind: it has not seen a new namespace yet, or still has the last one
		// of this name.
		ns, err = l.get(ctx, a.GetNamespace(), "")
		if apierrors.IsNotFound(err) && isClusterNamespace(a.GetNamespace()) {
			if a.IsDryRun() {
				return nil
			}
			ns, err = l.provide(ctx, a.GetNamespace())
		}
		if apierrors.IsNotFound(err) {
			return apierrors.NewNotFound(
				api.Resource("namespaces"),
				a.GetNamespace(),
			) // the store names what the request is about
		} else if err != nil {
			return err
		}
	}
	if ns.Status.Phase != api.NamespaceTerminating {
		return nil
	}
	refused := admission.NewForbidden(
		a,
		fmt.Errorf("namespace %s is being deleted; nothing new can be created in it", ns.Name),
	)
	var s *apierrors.StatusError
	if errors.As(refused, &s) {
		s.ErrStatus.Details.Causes = append(s.ErrStatus.Details.Causes, metav1.StatusCause{
			Type: "NamespaceTerminating", Message: "namespace " + ns.Name + " is being deleted", Field: "metadata.namespace"})
	}
	return refused
}

// provide creates a namespace that every cluster has, because something is created in it.
func (l *Lifecycle) provide(ctx context.Context, name string) (*api.Namespace, error) {
	ctx = request.ForWrite(request.AsCenter(apirequest.WithNamespace(ctx, "")),
		corev1.SchemeGroupVersion.WithResource("namespaces"), "")
	obj, err := l.Namespaces.Create(ctx, &api.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{corev1.LabelMetadataName: name},
	}}, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return l.get(ctx, name, "")
	}
	if err != nil {
		return nil, fmt.Errorf("create namespace %s, which every cluster has: %w", name, err)
	}
	return obj.(*api.Namespace), nil
}

func (l *Lifecycle) get(ctx context.Context, name, revision string) (*api.Namespace, error) {
	obj, err := l.Namespaces.Get(apirequest.WithNamespace(ctx, ""), name, &metav1.GetOptions{ResourceVersion: revision})
	if err != nil {
		return nil, err
	}
	return obj.(*api.Namespace), nil
}

// Born tells when the space of a request was made: its first namespace is as old.
func (l *Lifecycle) Born(ctx context.Context) metav1.Time {
	ns, err := l.get(ctx, metav1.NamespaceDefault, "0")
	if err != nil {
		return metav1.Time{}
	}
	return ns.CreationTimestamp
}

// isClusterNamespace reports whether every cluster has this namespace, and a space has it once something
// is in it: nobody joins a space as a node, and few read it without an account.
func isClusterNamespace(name string) bool {
	return name == metav1.NamespacePublic || name == corev1.NamespaceNodeLease
}

// isBootstrapNamespace reports whether every space has this namespace.
func isBootstrapNamespace(name string) bool { return name == "default" || name == "kube-system" }

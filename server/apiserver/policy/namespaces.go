package policy

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// namespaces gives upstream's matchers the namespaces of one space, as a lister and as a client. ctx
// names the space, because matchers call with contexts of their own.
type namespaces struct {
	corelisters.NamespaceListerExpansion
	ctx context.Context
	get func(ctx context.Context, name string) (*corev1.Namespace, error)
}

// Get implements listers.NamespaceLister.
func (n namespaces) Get(name string) (*corev1.Namespace, error) { return n.get(n.ctx, name) }

// List implements listers.NamespaceLister.
func (namespaces) List(labels.Selector) ([]*corev1.Namespace, error) {
	return nil, errors.New("matchers ask for one namespace at a time")
}

func (n namespaces) client() kubernetes.Interface { return namespaceClient{n: n} }

type namespaceClient struct {
	kubernetes.Interface
	n namespaces
}

// CoreV1 implements kubernetes.Interface.
func (c namespaceClient) CoreV1() corev1client.CoreV1Interface { return namespaceCore{n: c.n} }

type namespaceCore struct {
	corev1client.CoreV1Interface
	n namespaces
}

// Namespaces implements the client of the core group.
func (c namespaceCore) Namespaces() corev1client.NamespaceInterface { return namespaceGetter{n: c.n} }

type namespaceGetter struct {
	corev1client.NamespaceInterface
	n namespaces
}

// Get implements the client of namespaces.
func (c namespaceGetter) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Namespace, error) {
	return c.n.Get(name)
}

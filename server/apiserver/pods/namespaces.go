package pods

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	namespacestore "k8s.io/kubernetes/pkg/registry/core/namespace/storage"
	claimstore "k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim/storage"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/tunnel/exchange"
)

// Namespaces has the claims that the space shows in a Namespace, and that were born at sites, go when
// a user deletes the Namespace. Sites keep claims of themselves, as clusters do, and their namespace
// with them.
func Namespaces(r *namespacestore.REST, claims *claimstore.REST, sites Sites) rest.Storage {
	if sites == nil {
		return r
	}
	return &namespaces{r, claims, claimsAt(claims, sites)}
}

type namespaces struct {
	*namespacestore.REST
	claims rest.Lister
	at     siteObjects
}

// Delete implements rest.GracefulDeleter.
func (n *namespaces) Delete(
	ctx context.Context,
	name string,
	validate rest.ValidateObjectFunc,
	o *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	var born []runtime.Object
	if !request.FromCenter(ctx) && (o == nil || len(o.DryRun) == 0) {
		born = n.born(ctx, name) // a claim is shown no longer than what made it
	}
	obj, now, err := n.REST.Delete(ctx, name, validate, o)
	if err == nil {
		n.end(ctx, born)
	}
	return obj, now, err
}

// born lists the claims that go with a Namespace. With one of a parent none goes: it leaves this
// relay also when it is placed elsewhere.
func (n *namespaces) born(ctx context.Context, name string) (out []runtime.Object) {
	namespace, err := n.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil
	}
	if _, fromParent := metadata.Annotation(metadata.Of(namespace), v1alpha1.AnnotationOrigin); fromParent {
		return nil
	}
	list, err := n.claims.List(apirequest.WithNamespace(ctx, name), &internalversion.ListOptions{})
	if err != nil {
		return nil
	}
	_ = meta.EachListItem(list, func(claim runtime.Object) error { // it returns what the function does
		if _, born := metadata.Annotation(metadata.Of(claim), v1alpha1.AnnotationReportedFrom); born {
			out = append(out, claim)
		}
		return nil
	})
	return out
}

// goTime is how long sites are waited for when a Namespace goes.
const goTime = 5 * time.Second

// end has sites delete claims. A site that is away, or refuses, keeps the claim and says so itself,
// because its namespace cannot go. Nothing waits for it here.
func (n *namespaces) end(ctx context.Context, claims []runtime.Object) {
	ctx, cancel := context.WithTimeout(ctx, goTime)
	defer cancel()
	seats := make(chan struct{}, endings)
	var running sync.WaitGroup
	for _, claim := range claims {
		seats <- struct{}{}
		running.Go(func() {
			defer func() { <-seats }()
			_ = n.at.end(ctx, claim, exchange.Delete, &metav1.DeleteOptions{}) // its site says what stays
		})
	}
	running.Wait()
}

package policy

import (
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/admissionregistration"
	registrationinformers "k8s.io/client-go/informers/admissionregistration/v1"
	"k8s.io/client-go/informers/core"
	coreinformers "k8s.io/client-go/informers/core/v1"
	registrationlisters "k8s.io/client-go/listers/admissionregistration/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

func indexer[T Object](all []T) cache.Indexer {
	i := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	for _, obj := range all {
		i.Add(obj) //nolint:errcheck // objects with metadata always have a key
	}
	return i
}

// snapshot implements upstream's informers over objects that do not change.
type snapshot struct {
	informers.SharedInformerFactory
	namespaces           namespaces
	validating, mutating cache.Indexer
}

// Core implements informers.SharedInformerFactory.
func (s snapshot) Core() core.Interface { return coreSnapshot{s: s} }

// Admissionregistration implements informers.SharedInformerFactory.
func (s snapshot) Admissionregistration() admissionregistration.Interface {
	return registrationSnapshot{s: s}
}

type coreSnapshot struct {
	core.Interface
	s snapshot
}

// V1 implements core.Interface.
func (c coreSnapshot) V1() coreinformers.Interface { return coreV1{s: c.s} }

type coreV1 struct {
	coreinformers.Interface
	s snapshot
}

// Namespaces implements the informers of the group.
func (c coreV1) Namespaces() coreinformers.TypedNamespaceInformer {
	return namespaceInformer{n: c.s.namespaces}
}

type registrationSnapshot struct {
	admissionregistration.Interface
	s snapshot
}

// V1 implements admissionregistration.Interface.
func (r registrationSnapshot) V1() registrationinformers.Interface { return registrationV1{s: r.s} }

type registeredValidating = registrationinformers.TypedValidatingWebhookConfigurationInformer

type registeredMutating = registrationinformers.TypedMutatingWebhookConfigurationInformer

type registrationV1 struct {
	registrationinformers.Interface
	s snapshot
}

// ValidatingWebhookConfigurations implements the informers of the group.
func (r registrationV1) ValidatingWebhookConfigurations() registeredValidating {
	return validatingConfigs{all: r.s.validating}
}

// MutatingWebhookConfigurations implements the informers of the group.
func (r registrationV1) MutatingWebhookConfigurations() registeredMutating {
	return mutatingConfigs{all: r.s.mutating}
}

type validatingConfigs struct {
	registeredValidating
	all cache.Indexer
}

// Informer implements the informer.
func (validatingConfigs) Informer() cache.SharedIndexInformer { return synced{} }

// Lister implements the informer.
func (c validatingConfigs) Lister() registrationlisters.ValidatingWebhookConfigurationLister {
	return registrationlisters.NewValidatingWebhookConfigurationLister(c.all)
}

type mutatingConfigs struct {
	registeredMutating
	all cache.Indexer
}

// Informer implements the informer.
func (mutatingConfigs) Informer() cache.SharedIndexInformer { return synced{} }

// Lister implements the informer.
func (c mutatingConfigs) Lister() registrationlisters.MutatingWebhookConfigurationLister {
	return registrationlisters.NewMutatingWebhookConfigurationLister(c.all)
}

type namespaceInformer struct {
	coreinformers.TypedNamespaceInformer
	n namespaces
}

// Informer implements the informer.
func (namespaceInformer) Informer() cache.SharedIndexInformer { return synced{} }

// Lister implements the informer.
func (i namespaceInformer) Lister() corelisters.NamespaceLister { return i.n }

// synced is an informer that is always synced and sends no events.
type synced struct{ cache.SharedIndexInformer }

// HasSynced implements cache.SharedInformer.
func (synced) HasSynced() bool { return true }

// AddEventHandler implements cache.SharedInformer.
func (synced) AddEventHandler(cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return registered{}, nil
}

type registered struct {
	cache.ResourceEventHandlerRegistration
}

// HasSynced implements cache.ResourceEventHandlerRegistration.
func (registered) HasSynced() bool { return true }

package crd

import (
	"sync"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
)

// servedKinds is the discovery document of a Server. It records which resources the document has,
// so that nobody decodes it to find one.
type servedKinds struct {
	aggregated.ResourceManager
	announce func() // called after every change

	mu        sync.Mutex
	resources map[metav1.GroupVersion]map[string]bool // by their plural names
}

func newServedKinds(announce func()) *servedKinds {
	return &servedKinds{
		ResourceManager: aggregated.NewResourceManager("apis").WithSource(aggregated.CRDSource),
		announce:        announce,
		resources:       map[metav1.GroupVersion]map[string]bool{},
	}
}

// shows reports whether discovery has what a definition has established. It has nothing to show
// while the definition is not established, and once it is being deleted.
func (k *servedKinds) shows(crd *apiextensionsv1.CustomResourceDefinition) bool {
	if !IsEstablished(crd) || crd.DeletionTimestamp != nil {
		return true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, v := range crd.Spec.Versions {
		in := metav1.GroupVersion{Group: crd.Spec.Group, Version: v.Name}
		if v.Served && !k.resources[in][crd.Status.AcceptedNames.Plural] {
			return false
		}
	}
	return true
}

// WithSource implements aggregated.ResourceManager. All that a Server serves is of one source.
func (k *servedKinds) WithSource(aggregated.Source) aggregated.ResourceManager { return k }

// AddGroupVersion implements aggregated.ResourceManager.
func (k *servedKinds) AddGroupVersion(group string, value apidiscovery.APIVersionDiscovery) {
	k.ResourceManager.AddGroupVersion(group, value)
	k.record(func() { k.putLocked(group, value) })
}

// RemoveGroupVersion implements aggregated.ResourceManager.
func (k *servedKinds) RemoveGroupVersion(gv metav1.GroupVersion) {
	k.ResourceManager.RemoveGroupVersion(gv)
	k.record(func() { delete(k.resources, gv) })
}

// RemoveGroup implements aggregated.ResourceManager.
func (k *servedKinds) RemoveGroup(group string) {
	k.ResourceManager.RemoveGroup(group)
	k.record(func() {
		for gv := range k.resources {
			if gv.Group == group {
				delete(k.resources, gv)
			}
		}
	})
}

// SetGroups implements aggregated.ResourceManager.
func (k *servedKinds) SetGroups(groups []apidiscovery.APIGroupDiscovery) {
	k.ResourceManager.SetGroups(groups)
	k.record(func() {
		clear(k.resources)
		for _, g := range groups {
			for _, v := range g.Versions {
				k.putLocked(g.Name, v)
			}
		}
	})
}

func (k *servedKinds) putLocked(group string, v apidiscovery.APIVersionDiscovery) {
	names := make(map[string]bool, len(v.Resources))
	for _, r := range v.Resources {
		names[r.Resource] = true
	}
	k.resources[metav1.GroupVersion{Group: group, Version: v.Version}] = names
}

// record changes the record and then wakes those who wait for it.
func (k *servedKinds) record(change func()) {
	k.mu.Lock()
	change()
	k.mu.Unlock()
	k.announce()
}

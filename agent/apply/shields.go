package apply

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/lease"
)

// A NetworkPolicy that leaves together with the Pods that it selects goes after them: a Pod that is still
// ending would be open to everybody without it. So a workload that such a policy selects is deleted so that it
// goes when its Pods have gone, and the policy is deleted when none of these workloads is left.

// shieldAgain is after how long a policy looks again at what it waits for. It is told, too.
const shieldAgain = 2 * time.Second

func isNetworkPolicy(k store.Key) bool {
	return k.Group == "networking.k8s.io" && k.Resource == "networkpolicies"
}

// runsPods reports whether objects of a kind run Pods.
func runsPods(k store.Key) bool {
	return lease.MayRunOnce(k.Group, k.Resource) || k.Group == "apps" && k.Resource == "daemonsets"
}

// shields knows which NetworkPolicies and which workloads go together.
type shields struct {
	queue     *queue
	desired   Desired
	inventory *inventory.Inventory
}

// waits reports whether a NetworkPolicy that is to be deleted selects Pods of a workload that is about to go.
func (s shields) waits(policy store.Key, live *target.Object) (bool, error) {
	if !isNetworkPolicy(policy) {
		return false, nil
	}
	return s.anyLeaving(policy, runsPods, func(k store.Key, was *target.Object) bool {
		return selectsPods(live.Spec, templateLabels(k, was))
	})
}

// covers reports whether a NetworkPolicy that is to be deleted selects the Pods of a workload.
func (s shields) covers(workload store.Key, live *target.Object) (bool, error) {
	if !runsPods(workload) {
		return false, nil
	}
	return s.anyLeaving(workload, isNetworkPolicy, func(_ store.Key, was *target.Object) bool {
		return selectsPods(was.Spec, templateLabels(workload, live))
	})
}

// anyLeaving reports whether something that is about to be deleted in the namespace of an object is such as is
// asked for. Of a tombstone without a body nobody knows what it removes: it counts.
func (s shields) anyLeaving(
	of store.Key, kind func(store.Key) bool, is func(store.Key, *target.Object) bool,
) (bool, error) {
	for _, k := range s.queue.beside(of, kind) {
		if _, here := s.inventory.Get(k); !here {
			continue // it has gone
		}
		e, ok, err := s.desired.Get(k)
		switch {
		case err != nil:
			return false, fmt.Errorf("read what leaves with %s: %w", of, err)
		case !ok || !e.Tombstone:
			continue
		}
		var was target.Object
		if json.Unmarshal(e.Body, &was) != nil || is(k, &was) {
			return true, nil
		}
	}
	return false, nil
}

// templateLabels are the labels of the Pods of a workload.
func templateLabels(k store.Key, o *target.Object) map[string]string {
	if k.Group == "" && k.Resource == "pods" {
		return o.Metadata.Labels
	}
	type template struct {
		Metadata struct{ Labels map[string]string }
	}
	var spec struct {
		Template    template
		JobTemplate struct{ Spec struct{ Template template } }
	}
	_ = json.Unmarshal(o.Spec, &spec) // what cannot be read has none
	if isCron(k) {
		return spec.JobTemplate.Spec.Template.Metadata.Labels
	}
	return spec.Template.Metadata.Labels
}

// selectsPods reports whether the spec of a NetworkPolicy selects Pods with these labels.
func selectsPods(policy json.RawMessage, pods map[string]string) bool {
	var spec struct{ PodSelector metav1.LabelSelector }
	if json.Unmarshal(policy, &spec) != nil {
		return false
	}
	s, err := metav1.LabelSelectorAsSelector(&spec.PodSelector)
	return err == nil && s.Matches(labels.Set(pods))
}

// namespaceOf is a namespace of a space.
type namespaceOf struct{ space, name string }

// besides are the keys in a queue that run Pods, and NetworkPolicies, by namespace.
type besides map[namespaceOf]map[store.Key]struct{}

func (b besides) put(k store.Key) {
	if !runsPods(k) && !isNetworkPolicy(k) {
		return
	}
	at := namespaceOf{k.Space, k.Namespace}
	if b[at] == nil {
		b[at] = map[store.Key]struct{}{}
	}
	b[at][k] = struct{}{}
}

func (b besides) drop(k store.Key) {
	at := namespaceOf{k.Space, k.Namespace}
	if delete(b[at], k); len(b[at]) == 0 {
		delete(b, at)
	}
}

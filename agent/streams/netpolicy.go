package streams

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// A connection is judged by NetworkPolicies here as the network of a cluster judges it. Nothing of this file does I/O.

// policies are the NetworkPolicies of one namespace.
type policies struct {
	namespace string
	all       []policy
}

// policy is a NetworkPolicy for what comes in.
type policy struct {
	name    string
	selects labels.Selector
	rules   []rule
}

// policySpec is what is read of the spec of a NetworkPolicy.
type policySpec struct {
	PodSelector metav1.LabelSelector
	PolicyTypes []string
	Ingress     []rule
}

type rule struct {
	Ports []portRule
	From  []peerRule
}

type portRule struct {
	Protocol *string
	Port     *intstr.IntOrString
	EndPort  *int32
}

type peerRule struct {
	PodSelector, NamespaceSelector *metav1.LabelSelector
	IPBlock                        *block
}

type block struct {
	CIDR   string
	Except []string
}

// callee is a Pod that is connected to, at a TCP port.
type callee struct {
	labels map[string]string
	port   int
	// names are those of that port in the Pod's containers.
	names []string
}

// peer is who connects: a Pod, or an address alone. The namespace has the name that policies of this cluster use
// for it.
type peer struct {
	namespace               string // empty for an address alone
	elsewhere               bool   // that is a namespace of another site, and none of the space
	namespaceLabels, labels map[string]string
	address                 netip.Addr
}

// add adds a policy by the JSON of its spec.
func (p *policies) add(name string, spec []byte) error {
	var is policySpec
	if err := json.Unmarshal(spec, &is); err != nil {
		return fmt.Errorf("networkpolicy %s/%s cannot be read: %w", p.namespace, name, err)
	}
	if len(is.PolicyTypes) > 0 && !slices.Contains(is.PolicyTypes, "Ingress") {
		return nil
	}
	selects, err := metav1.LabelSelectorAsSelector(&is.PodSelector)
	if err != nil {
		return fmt.Errorf("networkpolicy %s/%s cannot be read: %w", p.namespace, name, err)
	}
	p.all = append(p.all, policy{name, selects, is.Ingress})
	return nil
}

// refuse returns the names of the policies that select a Pod of the namespace when none of them lets a peer in, and
// nothing when one does, or none selects the Pod. Nothing is known of a nil peer: no selector and no block matches it.
func (p *policies) refuse(pod callee, from *peer) (by []string) {
	for _, is := range p.all {
		if !is.selects.Matches(labels.Set(pod.labels)) {
			continue
		}
		if slices.ContainsFunc(is.rules, func(r rule) bool {
			return p.allows(r, pod, from)
		}) {
			return nil
		}
		by = append(by, is.name)
	}
	return by
}

func (p *policies) allows(r rule, pod callee, from *peer) bool {
	return (len(r.Ports) == 0 || slices.ContainsFunc(r.Ports, pod.has)) &&
		(len(r.From) == 0 || from != nil && slices.ContainsFunc(r.From, func(is peerRule) bool {
			return p.isPeer(is, from)
		}))
}

// has reports whether a port of a rule is the Pod's.
func (pod callee) has(is portRule) bool {
	switch {
	case is.Protocol != nil && *is.Protocol != "TCP":
		return false
	case is.Port == nil:
		return true
	case is.Port.Type == intstr.String:
		return slices.Contains(pod.names, is.Port.StrVal)
	case is.EndPort != nil:
		return int(is.Port.IntVal) <= pod.port && pod.port <= int(*is.EndPort)
	}
	return int(is.Port.IntVal) == pod.port
}

func (p *policies) isPeer(is peerRule, from *peer) bool {
	if is.IPBlock != nil {
		return inBlock(is.IPBlock, from.address)
	}
	if from.namespace == "" || is.NamespaceSelector == nil && (from.elsewhere || from.namespace != p.namespace) {
		return false
	}
	return (is.NamespaceSelector == nil || matches(is.NamespaceSelector, from.namespaceLabels)) &&
		(is.PodSelector == nil || matches(is.PodSelector, from.labels))
}

// matches reports whether a selector matches. One that cannot be read matches nothing.
func matches(s *metav1.LabelSelector, set map[string]string) bool {
	is, err := metav1.LabelSelectorAsSelector(s)
	return err == nil && is.Matches(labels.Set(set))
}

// inBlock reports whether an address is in a block. A part that cannot be read excludes all.
func inBlock(b *block, at netip.Addr) bool {
	in := func(cidr string) (is, readable bool) {
		prefix, err := netip.ParsePrefix(cidr)
		return err == nil && prefix.Contains(at), err == nil
	}
	if is, _ := in(b.CIDR); !is {
		return false
	}
	return !slices.ContainsFunc(b.Except, func(cidr string) bool {
		is, readable := in(cidr)
		return is || !readable
	})
}

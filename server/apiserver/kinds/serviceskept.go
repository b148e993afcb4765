package kinds

import (
	"slices"

	apiservice "k8s.io/kubernetes/pkg/api/service"
	api "k8s.io/kubernetes/pkg/apis/core"
)

// What upstream does before it allocates, which cannot be had without its allocators: a writer may
// leave out what was allocated, and clusterIP and clusterIPs are kept equal. These are
// patchAllocatedValues and normalizeClusterIPs of
// k8s.io/kubernetes/pkg/registry/core/service/storage.

// keepAllocated fills in what a target has allocated if the writer leaves it out.
func keepAllocated(after, before *api.Service) {
	if hasAddress(before) && hasAddress(after) {
		if after.Spec.ClusterIP == "" {
			after.Spec.ClusterIP = before.Spec.ClusterIP
		}
		if len(after.Spec.ClusterIPs) == 0 {
			after.Spec.ClusterIPs = slices.Clone(before.Spec.ClusterIPs)
		}
	}
	if atNodes(before) && atNodes(after) {
		keepNodePorts(after, before)
	}
	if apiservice.NeedsHealthCheck(before) && apiservice.NeedsHealthCheck(after) &&
		after.Spec.HealthCheckNodePort == 0 {
		after.Spec.HealthCheckNodePort = before.Spec.HealthCheckNodePort
	}
}

// keepNodePorts gives ports without a node port the one that the port of their name had, unless
// another one has it now.
func keepNodePorts(after, before *api.Service) {
	known, used := map[string]int32{}, map[int32]bool{}
	for _, p := range before.Spec.Ports {
		known[p.Name] = p.NodePort
	}
	for _, p := range after.Spec.Ports {
		used[p.NodePort] = true
	}
	for i := range after.Spec.Ports {
		if p := &after.Spec.Ports[i]; p.NodePort == 0 && !used[known[p.Name]] {
			p.NodePort = known[p.Name]
		}
	}
}

// pairAddresses gives a Service that has only clusterIP the list of it.
func pairAddresses(s *api.Service) {
	if s.Spec.ClusterIP != "" && len(s.Spec.ClusterIPs) == 0 {
		s.Spec.ClusterIPs = []string{s.Spec.ClusterIP}
	}
}

// followAddress makes clusterIPs follow a clusterIP that a writer has changed alone.
func followAddress(after, before *api.Service) {
	ip := after.Spec.ClusterIP
	if ip == before.Spec.ClusterIP || !slices.Equal(after.Spec.ClusterIPs, before.Spec.ClusterIPs) {
		return
	}
	after.Spec.ClusterIPs = nil
	if ip != "" {
		after.Spec.ClusterIPs = []string{ip}
	}
}

// hasAddress reports whether a Service gets an address of its cluster.
func hasAddress(s *api.Service) bool { return s.Spec.Type != api.ServiceTypeExternalName }

// atNodes reports whether a Service gets a port at every node.
func atNodes(s *api.Service) bool {
	spec := s.Spec
	return spec.Type == api.ServiceTypeNodePort || spec.Type == api.ServiceTypeLoadBalancer &&
		(spec.AllocateLoadBalancerNodePorts == nil || *spec.AllocateLoadBalancerNodePorts)
}

// keepFamilies fills in the address families of a Service if the writer leaves them out. If the
// writer changes the policy, the target chooses the families again.
func keepFamilies(after, before *api.Service) {
	if after.Spec.Type == api.ServiceTypeExternalName || before.Spec.Type == api.ServiceTypeExternalName {
		return
	}
	if after.Spec.IPFamilyPolicy == nil {
		after.Spec.IPFamilyPolicy = before.Spec.IPFamilyPolicy
	}
	if same := before.Spec.IPFamilyPolicy; same != nil && after.Spec.IPFamilyPolicy != nil &&
		*same == *after.Spec.IPFamilyPolicy &&
		len(after.Spec.IPFamilies) == 0 {
		after.Spec.IPFamilies = before.Spec.IPFamilies
	}
}

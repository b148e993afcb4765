package policy

import (
	"fmt"
	"slices"
	"strings"

	"skerry.dev/skerry/tunnel"
)

// Preset is a site's policy in one word.
type Preset string

// The presets.
const (
	// Restricted is for a cluster that spaces of strangers use: Baseline, but for Pods at the Pod Security
	// level restricted, and without classes of Ingresses, whose names are the cluster's.
	Restricted Preset = "restricted"
	// Baseline is for a cluster that several teams use. It is the default.
	Baseline Preset = "baseline"
	// Trusted is for a cluster of whoever uses its spaces: they may do nearly all that an admin of the
	// cluster may. Tokens for the cluster's own API, and what others have on it, stay out of reach.
	Trusted Preset = "trusted"
)

// presets are what each word allows.
var presets = map[Preset]tunnel.Allow{
	Restricted: {PodSecurity: []string{"restricted"}, DenyKinds: []string{ingressClasses}},
	Baseline:   {},
	Trusted: {
		Kinds:               []string{"*"},
		PodSecurity:         []string{"privileged"},
		LoadBalancerClasses: []string{"*"},
		Controllers:         []string{"*"},
		ClusterControllers:  []string{"*"},
		Webhooks:            []string{"*"},
		ExternalBackends:    true,
		ExternalIPs:         true,
		VolumeNames:         true,
	},
}

// Presets are the words, from the strictest on.
func Presets() []string { return []string{string(Restricted), string(Baseline), string(Trusted)} }

// Allows returns what a preset allows, which the caller may change. It is an error of the user if
// there is no such word.
func (p Preset) Allows() (tunnel.Allow, error) {
	a, ok := presets[p]
	if !ok {
		return a, fmt.Errorf("policy %q: write one of %s", p, strings.Join(Presets(), ", "))
	}
	for _, list := range []*[]string{&a.Kinds, &a.DenyKinds, &a.PodSecurity, &a.LoadBalancerClasses, &a.Controllers,
		&a.ClusterControllers, &a.Webhooks} {
		*list = slices.Clone(*list)
	}
	return a, nil
}

// trustedKeys are the keys of what Trusted opens, as they are written in agent.yaml.
var trustedKeys = []string{"kinds", "podSecurity", "loadBalancerClasses", "controllers", "clusterControllers",
	"webhooks", "externalBackends", "externalIPs", "volumeNames"}

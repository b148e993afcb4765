package tunnel

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// ClusterOffer is what a child's cluster serves and which properties it has, or, of a relay, what any
// cluster below it serves and which properties all of them have: what decisions about where objects go
// ask for. A session sends it when it begins and when it changes.
type ClusterOffer struct {
	// Versions are the groups and versions that are served, such as apps/v1, in order.
	Versions []string `json:"versions,omitempty"`
	// Resources are those of other groups than Kubernetes' own, each group/version/resource, in
	// order.
	Resources []string `json:"resources,omitempty"`
	// Incomplete says that there are more.
	Incomplete bool `json:"incomplete,omitempty"`
	// Properties are the values of the ClusterProperties of about.k8s.io by name.
	Properties map[string]string `json:"properties,omitempty"`
}

// What a parent takes of one ClusterOffer; the rest is dropped.
const (
	MaxServed        = 512
	maxServedName    = 400
	MaxProperties    = 64
	MaxPropertyValue = 256
)

var (
	versionForm  = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[a-z0-9]+$`)
	resourceForm = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[a-z0-9]+/[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)
)

// Bounded returns what a parent accepts of o, and a child sends: sorted, each once.
func (o *ClusterOffer) Bounded() *ClusterOffer {
	if o == nil {
		return nil
	}
	out := &ClusterOffer{Incomplete: o.Incomplete}
	take := func(of []string, form *regexp.Regexp) []string {
		var kept []string
		for _, text := range of {
			if len(text) <= maxServedName && form.MatchString(text) {
				kept = append(kept, text)
			}
		}
		slices.Sort(kept)
		kept = slices.Compact(kept)
		if len(kept) > MaxServed {
			kept, out.Incomplete = kept[:MaxServed:MaxServed], true
		}
		return kept
	}
	out.Versions, out.Resources = take(o.Versions, versionForm), take(o.Resources, resourceForm)
	for _, name := range slices.Sorted(maps.Keys(o.Properties)) {
		value := o.Properties[name]
		if len(name) > maxFact || !nameForm.MatchString(name) || len(value) > MaxPropertyValue ||
			!utf8.ValidString(value) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			continue
		}
		if out.Properties == nil {
			out.Properties = map[string]string{}
		}
		if out.Properties[name] = value; len(out.Properties) == MaxProperties {
			break
		}
	}
	return out
}

// Equal reports whether o and p are the same.
func (o *ClusterOffer) Equal(p *ClusterOffer) bool {
	if o == nil || p == nil {
		return o == p
	}
	return slices.Equal(o.Versions, p.Versions) && slices.Equal(o.Resources, p.Resources) &&
		o.Incomplete == p.Incomplete && maps.Equal(o.Properties, p.Properties)
}

// ReportOffer records what the child's cluster offers. It must not be changed afterwards.
func (c *Conditions) ReportOffer(o *ClusterOffer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.offer.Equal(o) {
		c.offer = o
		c.changeLocked(c.list)
	}
}

// builtInGroups are the groups of Kubernetes' own kinds. Clusters of one version serve the same of
// them, so that targets report their versions alone.
var builtInGroups = map[string]bool{
	"": true, "apps": true, "batch": true, "autoscaling": true, "policy": true, "extensions": true,
	"admissionregistration.k8s.io": true, "apiextensions.k8s.io": true, "apiregistration.k8s.io": true,
	"authentication.k8s.io": true, "authorization.k8s.io": true, "certificates.k8s.io": true,
	"coordination.k8s.io": true, "discovery.k8s.io": true, "events.k8s.io": true,
	"flowcontrol.apiserver.k8s.io": true, "internal.apiserver.k8s.io": true, "networking.k8s.io": true,
	"node.k8s.io": true, "rbac.authorization.k8s.io": true, "resource.k8s.io": true,
	"scheduling.k8s.io": true, "storage.k8s.io": true, "storagemigration.k8s.io": true,
}

// BuiltInGroup reports whether a group has kinds of Kubernetes itself.
func BuiltInGroup(group string) bool { return builtInGroups[group] }

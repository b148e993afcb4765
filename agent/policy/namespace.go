package policy

import (
	"regexp"
	"slices"
	"strings"

	psa "k8s.io/pod-security-admission/api"
)

// Space is who asks for a namespace: a space by its name and its UID at the parent.
type Space struct{ Name, UID string }

// Existing is what there is to know of a namespace that exists on the cluster.
type Existing struct {
	Name string
	// Owner is the space that it belongs to by its annotations; zero if it has none.
	Owner Space
	// Foreign are objects in it that Kubernetes does not make by itself, "resource/name"; some are
	// enough.
	Foreign []string
	// Bound names a binding that gives rights to the namespace's ServiceAccounts, empty when there
	// is none.
	Bound string
}

// prefixForm is what a space may put before the names of its namespaces.
var prefixForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,29}[a-z0-9])?-$`)

// maxName is the longest name of a namespace.
const maxName = 63

// Name refuses the name that a space's namespace would have on the cluster, whether it exists or
// not.
func (p *Policy) Name(prefix, namespace string) error {
	name := prefix + namespace
	switch {
	case prefix != "" && !prefixForm.MatchString(prefix):
		return refuse(
			ReasonNamespace,
			"",
			"",
			"the prefix %q of the space's spec.namespaceMapping is none: it has lower-case letters, digits and '-', "+
				"at most 32, and ends with '-'",
			prefix,
		)
	case reserved(name) && prefix == "":
		return refuse(
			ReasonNamespace,
			"",
			"",
			"namespaces named kube-* and skerry-* are the cluster's own, and the agent's",
		)
	case reserved(name):
		return refuse(
			ReasonNamespace,
			"",
			"",
			"namespace %q would be %q at the site by the space's spec.namespaceMapping, "+
				"and namespaces named kube-* and skerry-* are the cluster's own, and the agent's",
			namespace,
			name,
		)
	case len(name) > maxName:
		return refuse(
			ReasonNamespace,
			"",
			"",
			"namespace %q would be %q at the site by the space's spec.namespaceMapping, which is %d characters, "+
				"and the name of a namespace has at most %d; choose a name of at most %d",
			namespace,
			name,
			len(name),
			maxName,
			maxName-len(prefix),
		)
	}
	return nil
}

func reserved(name string) bool {
	return strings.HasPrefix(name, "kube-") || strings.HasPrefix(name, "skerry-")
}

// Namespace refuses a space the use of a namespace that exists.
func (p *Policy) Namespace(s Space, n Existing) error {
	switch {
	case reserved(n.Name):
		return refuse(
			ReasonNamespace,
			"",
			"",
			"namespaces named kube-* and skerry-* are the cluster's own, and the agent's",
		)
	case n.Owner == s:
		return nil
	case n.Owner.Name == s.Name && p.opened(s.Name, n.Name):
		return nil
	case n.Owner.Name == s.Name:
		return refuse(ReasonTaken, "namespaces", "["+s.Name+"/"+n.Name+"]",
			"namespace %q at the site belongs to an earlier space named %q, which was another one", n.Name, s.Name)
	case n.Owner.Name != "":
		return refuse(
			ReasonTaken,
			"",
			"",
			"namespace %q at the site belongs to space %q, and a namespace belongs to one space; "+
				"choose another name, place space %q elsewhere, or give it names of its own at "+
				"sites when it is created (spec.namespaceMapping)",
			n.Name,
			n.Owner.Name,
			s.Name,
		)
	case p.opened(s.Name, n.Name):
		return nil
	case n.Bound != "":
		return refuse(
			ReasonNamespace,
			"namespaces",
			"["+n.Name+"]",
			"namespace %q exists at the site, and %s gives rights to its ServiceAccounts",
			n.Name,
			n.Bound,
		)
	case len(n.Foreign) > 0:
		return refuse(
			ReasonNamespace,
			"namespaces",
			"["+n.Name+"]",
			"namespace %q exists at the site and is in use there",
			n.Name,
		)
	}
	return nil
}

// opened reports whether the site has opened a namespace to a space.
func (p *Policy) opened(space, namespace string) bool {
	at := func(patterns []string) bool {
		return matches(namespace, patterns) || matches(space+"/"+namespace, patterns)
	}
	return at(p.site.Namespaces) && (p.parent.Namespaces == nil || at(p.parent.Namespaces))
}

// Opens reports whether the site has opened a namespace to any space.
func (p *Policy) Opens(namespace string) bool {
	at := func(patterns []string) bool {
		for _, pattern := range patterns {
			if _, name, of := strings.Cut(pattern, "/"); of {
				pattern = name
			}
			if matches(namespace, []string{pattern}) {
				return true
			}
		}
		return false
	}
	return at(p.site.Namespaces) && (p.parent.Namespaces == nil || at(p.parent.Namespaces))
}

// devicesLabels let the claims of a namespace have devices that others use. Who may set them on a
// Namespace decides about that, which is the site's admin.
var devicesLabels = []string{"resource.kubernetes.io/admin-access", "resource.k8s.io/admin-access"}

// siteKeys are labels and annotations of a namespace, or domains of some, by which a site's admin says
// what its Pods may do: they exempt from OpenShift's security context constraints and say their
// ranges, exempt from Gatekeeper and Open Policy Agent, make it part of a project of Rancher, choose
// nodes and tolerations (PodNodeSelector, PodTolerationRestriction), roles of AWS (kiam, kube2iam), a
// project of Google's cloud (Config Connector), and the way to other networks (OVN-Kubernetes).
var siteKeys = []string{"openshift.io/", "security.openshift.io/", "network.openshift.io/",
	"admission.gatekeeper.sh/ignore", "openpolicyagent.org/", "field.cattle.io/projectId",
	"scheduler.alpha.kubernetes.io/", "iam.amazonaws.com/", "cnrm.cloud.google.com/", "k8s.ovn.org/"}

// ofSite reports whether a label or an annotation of a namespace is the site's admin's to set.
func ofSite(name string) bool {
	return slices.ContainsFunc(siteKeys, func(key string) bool {
		return name == key || strings.HasSuffix(key, "/") && strings.HasPrefix(name, key)
	})
}

// Annotations are those of a namespace without what is the site's admin's to set.
func (p *Policy) Annotations(wished map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range wished {
		if !ofSite(name) {
			out[name] = value
		}
	}
	return out
}

// Labels are the labels of a namespace with the site's Pod Security level in place of the space's
// wishes. A space may ask for a stricter level than the site's. devicesLabels and
// siteKeys are left out.
func (p *Policy) Labels(space string, wished map[string]string) map[string]string {
	out := map[string]string{}
	level := p.Level(space)
	for name, value := range wished {
		if name == LevelLabel {
			if asked, err := psa.ParseLevel(value); err == nil {
				level = stricter(level, asked)
			}
		}
		if !strings.HasPrefix(name, podSecurityPrefix) && !slices.Contains(devicesLabels, name) && !ofSite(name) {
			out[name] = value
		}
	}
	out[LevelLabel] = string(level)
	return out
}

// LevelLabel of a namespace is the Pod Security level that its cluster enforces.
const LevelLabel = psa.EnforceLevelLabel

const podSecurityPrefix = "pod-security.kubernetes.io/"

// Level is the Pod Security level of a space.
func (p *Policy) Level(space string) psa.Level {
	if level, ok := p.levels[space]; ok {
		return level
	}
	return p.levels[""]
}

func stricter(a, b psa.Level) psa.Level {
	if psa.CompareLevels(a, b) < 0 {
		return b
	}
	return a
}

package policy

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
)

// Exposed is what an Ingress, a Gateway or a route takes from the network of the site.
type Exposed struct {
	// Hosts are the names whose traffic it takes, in lower case and each once. "*.DOMAIN" is every
	// name below a domain, "" is what no other object names.
	Hosts []string
	// Backends are the Services of its own namespace to which it leads that traffic.
	Backends []string
}

const gatewayGroup = "gateway.networking.k8s.io"

// exposing are the kinds that lead traffic from outside to Services.
var exposing = map[string]func(*exposer, *Exposed){
	"ingresses.networking.k8s.io": (*exposer).ingress,
	"gateways." + gatewayGroup:    (*exposer).gateway,
	"httproutes." + gatewayGroup:  (*exposer).route,
	"grpcroutes." + gatewayGroup:  (*exposer).route,
	"tlsroutes." + gatewayGroup:   (*exposer).route,
}

// Exposes reports whether objects of a kind take traffic from the network of the site.
func Exposes(group, resource string) bool { return exposing[KindName(group, resource)] != nil }

// serverAlias are annotations by which an Ingress takes further hosts: with ingress-nginx, and in the
// site's DNS.
var serverAlias = []string{
	"nginx.ingress.kubernetes.io/server-alias", "external-dns.alpha.kubernetes.io/hostname",
}

// ExposingMeta is the part of their metadata that counts.
type ExposingMeta struct {
	Namespace   string            `json:"namespace"`
	Annotations map[string]string `json:"annotations"`
}

// exposer is what is read of such objects.
type exposer struct {
	Metadata ExposingMeta `json:"metadata"`
	Spec     struct {
		DefaultBackend *ingressBackend `json:"defaultBackend"`
		Listeners      []struct {
			Hostname string `json:"hostname"`
		} `json:"listeners"`
		Hostnames  []string `json:"hostnames"`
		ParentRefs []struct {
			Namespace string `json:"namespace"`
		} `json:"parentRefs"`
		Rules []struct {
			Host string `json:"host"`
			HTTP struct {
				Paths []struct {
					Backend ingressBackend `json:"backend"`
				} `json:"paths"`
			} `json:"http"`
			BackendRefs []backendRef `json:"backendRefs"`
			Filters     []struct {
				RequestMirror struct {
					BackendRef backendRef `json:"backendRef"`
				} `json:"requestMirror"`
			} `json:"filters"`
		} `json:"rules"`
	} `json:"spec"`
}

type ingressBackend struct {
	Service struct {
		Name string `json:"name"`
	} `json:"service"`
}

type backendRef struct {
	Group string `json:"group"`
	Kind  string `json:"kind"`
	Name  string `json:"name"`
}

// Exposing reads what an object exposes. A body that cannot be read exposes nothing: the cluster's
// own validation refuses it.
func Exposing(kind string, body []byte) (out Exposed) {
	var o exposer
	if json.Unmarshal(body, &o) == nil {
		out = o.read(kind)
	}
	return out
}

// ExposingSpec reads the same of an object in parts.
func ExposingSpec(kind string, meta ExposingMeta, spec []byte) (out Exposed) {
	o := exposer{Metadata: meta}
	if json.Unmarshal(spec, &o.Spec) == nil {
		out = o.read(kind)
	}
	return out
}

func (o *exposer) read(kind string) (out Exposed) {
	read := exposing[kind]
	if read == nil {
		return out
	}
	read(o, &out)
	for _, key := range serverAlias {
		for _, name := range strings.FieldsFunc(o.Metadata.Annotations[key], func(r rune) bool {
			return r == ',' || r == ' ' || r == '\n' || r == '\t'
		}) {
			out.host(name)
		}
	}
	slices.Sort(out.Hosts)
	slices.Sort(out.Backends)
	out.Hosts, out.Backends = slices.Compact(out.Hosts), slices.Compact(out.Backends)
	return out
}

func (e *Exposed) host(name string) {
	e.Hosts = append(e.Hosts, strings.TrimSuffix(strings.ToLower(name), "."))
}

func (e *Exposed) backend(name string) {
	if name != "" {
		e.Backends = append(e.Backends, name)
	}
}

func (o *exposer) ingress(out *Exposed) {
	out.backend(o.Metadata.Annotations["nginx.ingress.kubernetes.io/default-backend"])
	if o.Spec.DefaultBackend != nil {
		out.host("")
		out.backend(o.Spec.DefaultBackend.Service.Name)
	}
	for i := range o.Spec.Rules {
		out.host(o.Spec.Rules[i].Host)
		for _, p := range o.Spec.Rules[i].HTTP.Paths {
			out.backend(p.Backend.Service.Name)
		}
	}
}

// gateway takes what its listeners name. One without a name has an address of its own, which it
// shares with nobody.
func (o *exposer) gateway(out *Exposed) {
	for _, l := range o.Spec.Listeners {
		if l.Hostname != "" {
			out.host(l.Hostname)
		}
	}
}

// route takes the names that it has. One without takes all of its Gateway, which concerns others
// where that is in another namespace.
func (o *exposer) route(out *Exposed) {
	for _, name := range o.Spec.Hostnames {
		out.host(name)
	}
	for _, p := range o.Spec.ParentRefs {
		if len(o.Spec.Hostnames) == 0 && p.Namespace != "" && p.Namespace != o.Metadata.Namespace {
			out.host("")
		}
	}
	for i := range o.Spec.Rules {
		rule := &o.Spec.Rules[i]
		refs := rule.BackendRefs
		for _, f := range rule.Filters {
			refs = append(slices.Clip(refs), f.RequestMirror.BackendRef)
		}
		for _, ref := range refs {
			if ref.Group == "" && (ref.Kind == "" || ref.Kind == "Service") {
				out.backend(ref.Name)
			}
		}
	}
}

// covers reports whether a wildcard takes all of another host.
func covers(wildcard, host string) bool {
	return strings.HasPrefix(wildcard, "*.") && strings.HasSuffix(host, wildcard[1:])
}

// Host decides about a host for which a space wants the traffic at the site. first says that no other
// space may have it at the same time. An error is that the site keeps it for others.
func (p *Policy) Host(space, host string) (first bool, err error) {
	kept, mine := owners(space, p.site.Hosts, func(pattern string) bool { return matches(host, []string{pattern}) })
	for _, rule := range p.site.Hosts { // a wildcard takes all that is kept below it
		if _, pattern, _ := strings.Cut(rule, "="); !kept && covers(host, pattern) {
			_, ours := owners(space, p.site.Hosts, func(other string) bool { return other == pattern })
			kept = !ours
		}
	}
	switch {
	case mine:
		return false, nil
	case kept:
		return false, refuse(ReasonHost, "hosts", "["+space+"="+host+"]",
			"host %q is kept for another space at this site", host)
	}
	return true, nil
}

// maxHosts is how many hosts one object may take. All of them are remembered, and compared with all
// others.
const maxHosts = 256

// HostCount refuses an object that takes too many hosts.
func (p *Policy) HostCount(n int) error {
	if n <= maxHosts {
		return nil
	}
	return refuse(ReasonField, "", "", "it names %d hosts, and one object at a site has %d at most: divide it", n,
		maxHosts)
}

// HostTaken refuses a host that another space has at the site. bySite says that it is the site's own.
func HostTaken(space, host string, bySite bool) *Refusal {
	whose := "another space, which had it first"
	if bySite {
		whose = "an object of the site's own"
	}
	name := "host " + host
	if host == "" {
		name = "what comes without the name of a host (a rule without host, or a defaultBackend)"
	}
	return refuse(ReasonHost, "hosts", "["+space+"="+pattern(host)+", OTHER="+pattern(host)+"]",
		"%s is taken at this site by %s, and its traffic would go to either; choose another host", name, whose)
}

// pattern is how a host is written in a list of the configuration.
func pattern(host string) string {
	if host == "" {
		return "*"
	}
	return host
}

// ExternalBackend refuses to lead traffic from outside to a Service that is another name: the site's
// own proxy would follow it, with its own network and rights.
func (p *Policy) ExternalBackend(service, exposer string) error {
	if both(p.site.ExternalBackends, p.parent.ExternalBackends) {
		return nil
	}
	return refuse(ReasonField, "externalBackends", "true", "Service %q is of type ExternalName, and %s leads traffic "+
		"from outside to it: the site's own proxy would follow that name to wherever it leads; name a Service with Pods",
		service, exposer)
}

// IsExternalName reports whether a Service with this spec is another name.
func IsExternalName(spec []byte) bool {
	var s struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(spec, &s) == nil && s.Type == "ExternalName"
}

// owners reads a list of SPACE=PATTERN: whether anybody is named for what applies, and whether this
// space is.
func owners(space string, list []string, applies func(pattern string) bool) (some, mine bool) {
	for _, rule := range list {
		owner, pattern, _ := strings.Cut(rule, "=")
		if applies(pattern) {
			some, mine = true, mine || matches(space, []string{owner})
		}
	}
	return some, mine
}

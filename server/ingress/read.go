package ingress

import (
	"fmt"
	"slices"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// Ingress is what counts of an Ingress of the class.
type Ingress struct {
	Key store.Key
	UID string
	// Created is when it was made, as Kubernetes writes it: of two that claim the same, the older has it.
	Created string
	Rules   []Rule
	TLS     []TLS
	// Passthrough has TLS of its hosts end at the Pods.
	Passthrough bool
	// Words say what of it means nothing here.
	Words []string
	// Shown are the addresses in its status.
	Shown string
}

// Rule leads a path of a host to a backend.
type Rule struct {
	// Host is empty for a rule of all hosts.
	Host  string
	Path  string
	Exact bool
	// Default has what no rule of the host leads anywhere.
	Default bool
	Backend Backend
}

// Backend is a port of a Service in the namespace of its Ingress, by number or by name.
type Backend struct {
	Service, Name string
	Port          int64
}

// TLS names the certificate of hosts, a Secret in the namespace of its Ingress.
type TLS struct {
	Hosts  []string
	Secret string
}

// mostPath bounds the path of a rule, in bytes: a request is compared with no more of its own path.
const mostPath = 1024

// Read returns what counts of an Ingress. It is false for one of another class.
func Read(k store.Key, obj map[string]any) (in *Ingress, is bool) {
	if !placement.CenterServes(k, obj) {
		return nil, false
	}
	meta, spec := fields.Map(obj, "metadata"), fields.Map(obj, "spec")
	in = &Ingress{Key: k, UID: fields.Clone(meta, "uid"), Created: fields.Clone(meta, "creationTimestamp"),
		Shown: shown(obj)}
	if word, said := fields.Map(meta, "annotations")[v1alpha1.AnnotationTLS]; said {
		if in.Passthrough = word == v1alpha1.TLSPassthrough; !in.Passthrough {
			in.add("annotation %s: %.80q means nothing; write %s for TLS that ends at the Pods, or leave it out",
				v1alpha1.AnnotationTLS, fmt.Sprint(word), v1alpha1.TLSPassthrough)
		}
	}
	if fields.Map(meta, "labels")[v1alpha1.LabelTarget] != nil {
		in.add("label %s means nothing here: the center serves this, wherever its Services' Pods are", v1alpha1.LabelTarget)
	}
	for rule := range fields.Maps(spec, "rules") {
		host := strings.ToLower(fields.Clone(rule, "host"))
		for path := range fields.Maps(rule, "http", "paths") {
			in.rule(host, path)
		}
	}
	if to := fields.Map(spec, "defaultBackend"); to != nil {
		if b, ok := in.backend("the default backend", to); ok {
			in.Rules = append(in.Rules, Rule{Path: "/", Default: true, Backend: b})
		}
	}
	for t := range fields.Maps(spec, "tls") {
		in.tls(t)
	}
	return in, true
}

// rule takes over a path of a host.
func (in *Ingress) rule(host string, of map[string]any) {
	path := fields.Clone(of, "path")
	if path == "" {
		path = "/"
	}
	b, ok := in.backend("path "+path, fields.Map(of, "backend"))
	switch {
	case !ok:
	case len(path) > mostPath:
		in.add("path %.40q is longer than %d bytes, and is not served", path, mostPath)
	default:
		in.Rules = append(in.Rules, Rule{Host: host, Path: path, Exact: fields.String(of, "pathType") == "Exact", Backend: b})
	}
}

// backend reads where something leads.
func (in *Ingress) backend(of string, to map[string]any) (b Backend, ok bool) {
	if to["resource"] != nil {
		in.add("%s leads to a resource, which is not served: only Services are", of)
		return b, false
	}
	b = Backend{Service: fields.Clone(to, "service", "name"), Name: fields.Clone(to, "service", "port", "name")}
	b.Port, _ = fields.Number(fields.Map(to, "service", "port")["number"])
	return b, b.Service != ""
}

// tls takes over the certificate of hosts, which are those of the rules where none are named.
func (in *Ingress) tls(of map[string]any) {
	t := TLS{Secret: fields.Clone(of, "secretName")}
	for _, h := range fields.List(of, "hosts") {
		if host, ok := h.(string); ok {
			t.Hosts = append(t.Hosts, strings.ToLower(strings.Clone(host)))
		}
	}
	if len(t.Hosts) == 0 {
		for _, r := range in.Rules {
			if r.Host != "" && !slices.Contains(t.Hosts, r.Host) {
				t.Hosts = append(t.Hosts, r.Host)
			}
		}
	}
	if t.Secret == "" && !in.Passthrough {
		in.add("spec.tls of %s names no Secret, so there is no TLS", strings.Join(t.Hosts, ", "))
		return
	}
	in.TLS = append(in.TLS, t)
}

func (in *Ingress) add(format string, args ...any) {
	in.Words = append(in.Words, fmt.Sprintf(format, args...))
}

// names are the Services and Secrets that it names.
func (in *Ingress) names() (out []store.Key) {
	add := func(resource, name string) {
		k := store.Key{Space: in.Key.Space, Resource: resource, Namespace: in.Key.Namespace, Name: name}
		if name != "" && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	for _, r := range in.Rules {
		add("services", r.Backend.Service)
	}
	for _, t := range in.TLS {
		add("secrets", t.Secret)
	}
	return out
}

// older reports whether an Ingress has what both claim.
func (in *Ingress) older(than *Ingress) bool {
	if in.Created != than.Created {
		return in.Created < than.Created
	}
	return in.Key.Encode() < than.Key.Encode()
}

// shown are the addresses in the status of an Ingress.
func shown(obj map[string]any) string {
	var out []string
	for at := range fields.Maps(obj, "status", "loadBalancer", "ingress") {
		out = append(out, fields.String(at, "ip")+fields.String(at, "hostname"))
	}
	return strings.Join(out, ",")
}

package ingress

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// World is what a Table is made of.
type World struct {
	// Grants are the hosts of each space.
	Grants    map[string]grants
	Ingresses []*Ingress
	// Service and Certificate find what an Ingress names. A Service that is not there is nil. The error of a Certificate
	// says what is wrong with it.
	Service     func(store.Key) *Service
	Certificate func(store.Key) (*tls.Certificate, error)
	// Reaches reports whether a Service of a UID reaches its space: no other one is called.
	Reaches func(k store.Key, uid string) bool
}

// Service is what counts of a Service.
type Service struct {
	UID   string
	Ports []Port
}

// Port is a TCP port of a Service. Speaks is its appProtocol.
type Port struct {
	Name   string
	Number int64
	Speaks string
}

// To is what a request is passed to: a port of a Service. It is a key.
type To struct {
	Service store.Key
	UID     string
	Port    uint16
	HTTP2   bool // it speaks HTTP/2 without TLS, as gRPC does
}

// Table says where requests go. It is not changed.
type Table struct{ hosts map[string]*host }

// host is what a Table knows of a host, which is one space's alone.
type host struct {
	space string
	// named are the paths that rules of the host name, all those of rules for all hosts, rest those of default backends.
	named, all, rest paths
	certificate      *tls.Certificate
	certificateBy    *Ingress
	passthrough      bool
}

// paths lead to backends. Prefixes have no slash at their end.
type paths struct{ exact, prefixes map[string]*route }

// route is where a path leads. Where its Service is not there it has no To.
type route struct {
	by *Ingress
	to To
}

// Build makes a Table. The words say, by Ingress, what of it is not served and why; served are those of which a host
// is.
func Build(w World) (t *Table, words map[store.Key][]string, served map[store.Key]bool) {
	b := builder{World: w, table: &Table{hosts: map[string]*host{}}, words: map[store.Key][]string{},
		served: map[store.Key]bool{}}
	all := slices.Clone(w.Ingresses)
	slices.SortFunc(all, func(x, y *Ingress) int {
		if x.older(y) {
			return -1
		}
		return 1
	})
	for _, in := range all {
		b.words[in.Key] = slices.Clone(in.Words)
		b.named(in)
	}
	for _, in := range all { // all hosts are known now
		b.everywhere(in)
		b.certificates(in)
	}
	for name, h := range b.table.hosts { // one of a star is for each name below it
		if star := b.table.hosts[wildcardOf(name)]; h.certificateBy == nil && star != nil && star.space == h.space {
			h.certificate = star.certificate
		}
	}
	return b.table, b.words, b.served
}

type builder struct {
	World
	table  *Table
	words  map[store.Key][]string
	served map[store.Key]bool
}

func (b *builder) tell(in *Ingress, format string, args ...any) {
	if word := fmt.Sprintf(format, args...); !slices.Contains(b.words[in.Key], word) {
		b.words[in.Key] = append(b.words[in.Key], word)
	}
}

// claim returns what is known of a host that an Ingress claims, nil where it may not.
func (b *builder) claim(in *Ingress, name string) *host {
	if !b.Grants[in.Key.Space].allows(name) {
		b.tell(in, "%s", notGranted(name))
		return nil
	}
	if !b.Grants[in.Key.Space][name] && b.granted(name) {
		b.tell(in, "host %s is not served: another space was granted it by its name", name)
		return nil
	}
	h := b.table.hosts[name]
	if h == nil {
		h = &host{space: in.Key.Space}
		b.table.hosts[name] = h
	}
	if h.space != in.Key.Space {
		b.tell(in, "host %s is not served: another space has it", name)
		return nil
	}
	return h
}

// granted reports whether a space was granted a host by its name.
func (b *builder) granted(name string) bool {
	for _, g := range b.Grants {
		if g[name] {
			return true
		}
	}
	return false
}

// named takes over the rules of an Ingress that name a host.
func (b *builder) named(in *Ingress) {
	for _, r := range in.Rules {
		if r.Host == "" {
			continue
		}
		if h := b.claim(in, r.Host); h != nil {
			b.put(in, r.Host, &h.named, r)
		}
	}
}

// everywhere takes over the rules for all hosts, and the default backend: they are for all hosts of the space.
func (b *builder) everywhere(in *Ingress) {
	for _, r := range in.Rules {
		if r.Host != "" {
			continue
		}
		hosts := b.hostsOf(in.Key.Space)
		if len(hosts) == 0 {
			b.tell(in, "what leads to Service %s is for all hosts of the space, and it was granted none: the center's admin "+
				"grants hosts by spec.hosts of the Space", r.Backend.Service)
		}
		for _, name := range hosts {
			if h := b.claim(in, name); h != nil {
				of := &h.all
				if r.Default {
					of = &h.rest
				}
				b.put(in, name, of, r)
			}
		}
	}
}

// hostsOf are the hosts that a space was granted, and those of its rules, which no other space has.
func (b *builder) hostsOf(space string) (out []string) {
	for name := range b.Grants[space] {
		if h := b.table.hosts[name]; h == nil || h.space == space {
			out = append(out, name)
		}
	}
	for name, h := range b.table.hosts {
		if h.space == space && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// put takes over a rule of a host.
func (b *builder) put(in *Ingress, host string, of *paths, r Rule) {
	to, of2 := b.route(in, r.Backend), &of.prefixes
	path := strings.TrimSuffix(r.Path, "/")
	if r.Exact {
		path, of2 = r.Path, &of.exact
	}
	if *of2 == nil {
		*of2 = map[string]*route{}
	}
	if is := (*of2)[path]; is != nil {
		if is.by != in {
			b.tell(in, "%s%s is not served by this: Ingress %s/%s is older, and has it", host, r.Path, is.by.Key.Namespace,
				is.by.Key.Name)
		}
		return
	}
	(*of2)[path] = to
	b.served[in.Key] = true
}

// route finds where a backend leads.
func (b *builder) route(in *Ingress, to Backend) *route {
	r := &route{by: in}
	k := store.Key{Space: in.Key.Space, Resource: "services", Namespace: in.Key.Namespace, Name: to.Service}
	s := b.Service(k)
	if s == nil {
		b.tell(in, "there is no Service %s", to.Service)
		return r
	}
	i := slices.IndexFunc(s.Ports, func(p Port) bool {
		return to.Name != "" && p.Name == to.Name || to.Name == "" && p.Number == to.Port
	})
	if i < 0 {
		b.tell(in, "Service %s has no TCP port %s", to.Service, to.port())
		return r
	}
	if !b.Reaches(k, s.UID) {
		b.tell(in, "%s", unreached(to.Service))
	}
	port := s.Ports[i]
	http2, spoken := speaks(port.Speaks)
	if !spoken && !in.Passthrough {
		b.tell(in, "port %s of Service %s says appProtocol %.40q, and is asked by HTTP/1.1 without TLS; %s is for gRPC, "+
			"and annotation %s: %s for TLS that ends at the Pods", to.port(), to.Service, port.Speaks, appHTTP2,
			v1alpha1.AnnotationTLS, v1alpha1.TLSPassthrough)
	}
	r.to = To{Service: k, UID: s.UID, Port: uint16(port.Number), HTTP2: http2}
	return r
}

// appHTTP2 is the appProtocol of what speaks HTTP/2 without TLS. It is one of the Kubernetes API's own.
const appHTTP2 = "kubernetes.io/h2c"

// speaks reports whether what says an appProtocol is asked by HTTP/2, and whether it is asked as it says.
func speaks(appProtocol string) (http2, spoken bool) {
	switch appProtocol {
	case appHTTP2, "grpc":
		return true, true
	case "", "http", "tcp", "kubernetes.io/ws":
		return false, true
	}
	return false, false
}

// certificates takes over what an Ingress says of TLS.
func (b *builder) certificates(in *Ingress) {
	for _, t := range in.TLS {
		var is *tls.Certificate
		if !in.Passthrough {
			var err error
			if is, err = b.Certificate(in.secret(t)); err != nil {
				b.tell(in, "there is no TLS for %s: %v", strings.Join(t.Hosts, ", "), err)
				continue
			}
		}
		for _, name := range t.Hosts {
			h := b.claim(in, name)
			switch {
			case h == nil:
			case h.certificateBy != nil && h.certificateBy != in:
				b.tell(in, "TLS of host %s is as Ingress %s/%s says, which is older", name, h.certificateBy.Key.Namespace,
					h.certificateBy.Key.Name)
			default:
				h.certificate, h.certificateBy, h.passthrough = is, in, in.Passthrough
				if is != nil && is.Leaf.VerifyHostname(strings.Replace(name, "*", "any", 1)) != nil {
					b.tell(in, "the certificate in Secret %s is not for host %s", t.Secret, name)
				}
			}
		}
	}
}

func (in *Ingress) secret(t TLS) store.Key {
	return store.Key{Space: in.Key.Space, Resource: "secrets", Namespace: in.Key.Namespace, Name: t.Secret}
}

// find returns what is known of a host: by its name, else by what stands for all beside it.
func (t *Table) find(name string) *host {
	if strings.HasPrefix(name, anyPrefix) {
		return nil // nobody is called so
	}
	if h := t.hosts[name]; h != nil {
		return h
	}
	return t.hosts[wildcardOf(name)]
}

// find returns where a path of a host leads, nil for nowhere: the longest that fits, and an exact one before others.
func (h *host) find(path string) *route {
	for _, of := range []*paths{&h.named, &h.all, &h.rest} {
		if r := of.find(path); r != nil {
			return r
		}
	}
	return nil
}

func (p *paths) find(path string) *route {
	if r := p.exact[path]; r != nil {
		return r
	}
	if len(p.prefixes) == 0 {
		return nil
	}
	if len(path) > mostPath { // no rule is as long; a part of a name is none of its own
		path = path[:strings.LastIndexByte(path[:mostPath+1], '/')]
	}
	for {
		if r := p.prefixes[path]; r != nil {
			return r
		}
		i := strings.LastIndexByte(path, '/')
		if i < 0 {
			return nil
		}
		path = path[:i]
	}
}

// backends are all that the Table leads to.
func (t *Table) backends() map[To]bool {
	out := map[To]bool{}
	for _, h := range t.hosts {
		for _, of := range []*paths{&h.named, &h.all, &h.rest} {
			for _, all := range []map[string]*route{of.exact, of.prefixes} {
				for _, r := range all {
					if r.to.UID != "" {
						out[r.to] = true
					}
				}
			}
		}
	}
	return out
}

package ingress

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"skerry.dev/skerry/store"
)

type m = map[string]any

// made is an Ingress of a space that was made some seconds after others.
func made(space, name string, second int, spec m) *Ingress {
	spec["ingressClassName"] = "skerry"
	in, is := Read(store.Key{Space: space, Group: "networking.k8s.io", Resource: "ingresses", Namespace: "app", Name: name},
		m{"metadata": m{"uid": "uid-" + name, "creationTimestamp": fmt.Sprintf("2026-01-01T00:00:%02dZ", second)},
			"spec": spec})
	if !is {
		panic("it is of the class")
	}
	return in
}

// to is a backend, by NAME or NAME:PORT.
func to(service string) m {
	name, port, named := strings.Cut(service, ":")
	if !named {
		return m{"service": m{"name": name, "port": m{"number": int64(80)}}}
	}
	return m{"service": m{"name": name, "port": m{"name": port}}}
}

// rule leads paths of a host, "Exact /a" or "Prefix /a", to Services.
func rule(host string, pairs ...string) m {
	var paths []any
	for i := 0; i < len(pairs); i += 2 {
		kind, path, _ := strings.Cut(pairs[i], " ")
		paths = append(paths, m{"pathType": kind, "path": path, "backend": to(pairs[i+1])})
	}
	return m{"host": host, "http": m{"paths": paths}}
}

// world has a Service of each name, but none called "none", with a port 80 named http.
func world(grant map[string][]string, all ...*Ingress) World {
	w := World{Grants: map[string]grants{}, Ingresses: all,
		Service: func(k store.Key) *Service {
			if k.Name == "none" {
				return nil
			}
			return &Service{UID: "uid-" + k.Name, Ports: []Port{{Name: "http", Number: 80}}}
		},
		Certificate: func(k store.Key) (*tls.Certificate, error) {
			return nil, errors.New("Secret " + k.Name + " is not there")
		},
		Reaches: func(k store.Key, _ string) bool { return k.Name != "near" },
	}
	for space, hosts := range grant {
		w.Grants[space] = grantsOf(hosts)
	}
	return w
}

// leads is the Service that a request goes to, empty for none.
func (t *Table) leads(host, path string) string {
	h := t.find(hostOf(host))
	if h == nil {
		return ""
	}
	r := h.find(path)
	if r == nil {
		return ""
	}
	return r.to.Service.Name
}

// The examples of Kubernetes' page on Ingresses, path types.
func TestPathTypes(t *testing.T) {
	for _, c := range []struct {
		kind  string
		paths []string // in this order the Services are called 0, 1, 2
		asked string
		want  string
	}{
		{"Prefix", []string{"/"}, "/any/path", "0"},
		{"Exact", []string{"/foo"}, "/foo", "0"},
		{"Exact", []string{"/foo"}, "/bar", ""},
		{"Exact", []string{"/foo"}, "/foo/", ""},
		{"Exact", []string{"/foo/"}, "/foo", ""},
		{"Prefix", []string{"/foo"}, "/foo", "0"},
		{"Prefix", []string{"/foo"}, "/foo/", "0"},
		{"Prefix", []string{"/foo/"}, "/foo", "0"},
		{"Prefix", []string{"/foo/"}, "/foo/", "0"},
		{"Prefix", []string{"/aaa/bb"}, "/aaa/bbb", ""},
		{"Prefix", []string{"/aaa/bbb"}, "/aaa/bbb", "0"},
		{"Prefix", []string{"/aaa/bbb/"}, "/aaa/bbb", "0"},
		{"Prefix", []string{"/aaa/bbb"}, "/aaa/bbb/", "0"},
		{"Prefix", []string{"/aaa/bbb"}, "/aaa/bbb/ccc", "0"},
		{"Prefix", []string{"/aaa/bbb"}, "/aaa/bbbxyz", ""},
		{"Prefix", []string{"/", "/aaa"}, "/aaa/ccc", "1"},
		{"Prefix", []string{"/", "/aaa"}, "/ccc", "0"},
		{"Prefix", []string{"/", "/aaa", "/aaa/bbb"}, "/aaa/bbb", "2"},
		{"Prefix", []string{"/aaa"}, "/ccc", ""},
		{"ImplementationSpecific", []string{"/aaa"}, "/aaa/bbb", "0"},
		{"ImplementationSpecific", []string{""}, "/aaa/bbb", "0"},
		{"Exact", []string{"/foo"}, "/FOO", ""},
		{"Prefix", []string{"/foo"}, "/" + strings.Repeat("a", 3*mostPath), ""},
		{"Prefix", []string{"/"}, "/" + strings.Repeat("a", 3*mostPath), "0"},
		{"Prefix", []string{"/foo"}, "/foo/" + strings.Repeat("a", 3*mostPath), "0"},
	} {
		var pairs []string
		for i, p := range c.paths {
			pairs = append(pairs, c.kind+" "+p, fmt.Sprint(i))
		}
		table, words, _ := Build(world(map[string][]string{"shop": {"a.test"}},
			made("shop", "in", 1, m{"rules": []any{rule("a.test", pairs...)}})))
		if got := table.leads("a.test", c.asked); got != c.want || len(words[store.Key{}]) > 0 {
			t.Errorf("%s %v: %.40s leads to %q, want %q", c.kind, c.paths, c.asked, got, c.want)
		}
	}
	table, _, _ := Build(world(map[string][]string{"shop": {"a.test"}},
		made("shop", "in", 1, m{"rules": []any{rule("a.test", "Prefix /foo", "prefix", "Exact /foo", "exact")}})))
	if got := table.leads("a.test", "/foo"); got != "exact" {
		t.Errorf("of an exact path and a prefix %s has it", got)
	}
}

func TestHosts(t *testing.T) {
	table, words, served := Build(world(map[string][]string{"shop": {"a.test", "*.b.test", "late.d.test"}, "other": {"*.d.test"}},
		made("shop", "in", 1, m{"rules": []any{rule("a.test", "Prefix /", "web"), rule("c.test", "Prefix /", "web"),
			rule("x.b.test", "Prefix /x", "x"), rule("*.b.test", "Prefix /", "star"), rule("x.y.b.test", "Prefix /", "web")}}),
		made("other", "theirs", 0, m{"rules": []any{rule("late.d.test", "Prefix /", "web"), rule("a.test", "Prefix /", "evil"),
			rule("*.d.test", "Prefix /", "theirs")}})))
	for host, want := range map[string]string{
		"a.test": "web", "A.TEST": "web", "a.test:8443": "web", "a.test.": "web", "c.test": "", "x.b.test": "", "y.b.test": "star",
		"y.z.b.test": "", "b.test": "", "*.b.test": "", "": "", ".b.test": "star", "x.y.b.test": "", "[::1]:80": "", "late.d.test": "theirs",
		"other.d.test": "theirs",
	} {
		if got := table.leads(host, "/"); got != want {
			t.Errorf("host %q leads to %q, want %q", host, got, want)
		}
	}
	if got := table.leads("x.b.test", "/x"); got != "x" {
		t.Errorf("/x of a named host leads to %q", got)
	}
	for name, want := range map[string][]string{"in": {"c.test", "x.y.b.test"}, "theirs": {"late.d.test", "a.test"}} {
		for k, w := range words {
			if k.Name != name {
				continue
			}
			if len(w) != len(want) || !served[k] {
				t.Errorf("%s hears %q, and is served: %v", name, w, served[k])
			}
			for i := range min(len(w), len(want)) {
				if !strings.Contains(w[i], "host "+want[i]+" is not served") {
					t.Errorf("%s hears %q of host %s", name, w[i], want[i])
				}
			}
		}
	}
}

// Of two that claim the same, the older has it, whatever order they come in; the other one is told.
func TestTheOlderHasIt(t *testing.T) {
	grant := map[string][]string{"shop": {"a.test"}, "other": {"a.test"}}
	young := made("shop", "young", 2, m{"rules": []any{rule("a.test", "Prefix /", "young", "Prefix /own", "own")}})
	old := made("shop", "old", 1, m{"rules": []any{rule("a.test", "Prefix /", "old")}})
	foreign := made("other", "foreign", 3, m{"rules": []any{rule("a.test", "Prefix /foreign", "foreign")}})
	for _, all := range [][]*Ingress{{young, old, foreign}, {foreign, old, young}} {
		table, words, served := Build(world(grant, all...))
		if table.leads("a.test", "/") != "old" || table.leads("a.test", "/own") != "own" || table.leads("a.test", "/foreign") != "old" {
			t.Error("the younger one has it")
		}
		if w := strings.Join(words[young.Key], ";"); !strings.Contains(w, "Ingress app/old is older") {
			t.Errorf("the younger one hears %q", w)
		}
		if w := strings.Join(words[foreign.Key], ";"); !strings.Contains(w, "another space has it") || strings.Contains(w, "shop") {
			t.Errorf("the other space hears %q", w)
		}
		if len(words[old.Key]) > 0 || !served[old.Key] || !served[young.Key] || served[foreign.Key] {
			t.Errorf("served are %v; the older hears %q", served, words[old.Key])
		}
	}
}

// What is for all hosts is for those of its space alone, and comes after what names a host.
func TestAllHostsAreTheSpacesOwn(t *testing.T) {
	table, words, _ := Build(world(map[string][]string{"shop": {"a.test", "*.b.test"}, "other": {"c.test"}},
		made("shop", "named", 2, m{"rules": []any{rule("a.test", "Prefix /a", "a"), rule("x.b.test", "Prefix /x", "x")}}),
		made("shop", "rest", 1, m{"defaultBackend": to("rest"), "rules": []any{rule("", "Prefix /all", "all", "Prefix /a", "all")}}),
		made("nobody", "none", 1, m{"defaultBackend": to("rest")}),
		made("other", "theirs", 1, m{"rules": []any{rule("c.test", "Exact /", "theirs")}})))
	for asked, want := range map[string]string{"a.test/a": "a", "a.test/all": "all", "a.test/": "rest", "x.b.test/x": "x",
		"x.b.test/": "rest", "y.b.test/all/x": "all", "c.test/": "theirs", "c.test/x": "", "d.test/": ""} {
		host, path, _ := strings.Cut(asked, "/")
		if got := table.leads(host, "/"+path); got != want {
			t.Errorf("%s leads to %q, want %q", asked, got, want)
		}
	}
	for k, w := range words {
		if (k.Space == "nobody") != (len(w) > 0) {
			t.Errorf("%s hears %q", k, w)
		}
	}
}

func TestWords(t *testing.T) {
	for want, in := range map[string]*Ingress{
		"there is no Service none":               made("shop", "in", 1, m{"rules": []any{rule("a.test", "Prefix /", "none")}}),
		"Service web has no TCP port grpc":       made("shop", "in", 1, m{"rules": []any{rule("a.test", "Prefix /", "web:grpc")}}),
		"Service near is not called":             made("shop", "in", 1, m{"rules": []any{rule("a.test", "Prefix /", "near")}}),
		"Secret own is not there":                made("shop", "in", 1, m{"rules": []any{rule("a.test", "Prefix /", "web")}, "tls": []any{m{"secretName": "own"}}}),
		"names no Secret":                        made("shop", "in", 1, m{"rules": []any{rule("a.test", "Prefix /", "web")}, "tls": []any{m{"hosts": []any{"a.test"}}}}),
		"leads to a resource":                    made("shop", "in", 1, m{"defaultBackend": m{"resource": m{"kind": "Bucket", "name": "b"}}}),
		"is longer than 1024 bytes":              made("shop", "in", 1, m{"rules": []any{rule("a.test", "Prefix /"+strings.Repeat("a", 2000), "web")}}),
		"host b.test is not served: the space w": made("shop", "in", 1, m{"rules": []any{rule("b.test", "Prefix /", "web")}}),
	} {
		_, words, _ := Build(world(map[string][]string{"shop": {"a.test"}}, in))
		if got := strings.Join(words[in.Key], "; "); !strings.Contains(got, want) {
			t.Errorf("it hears %q, want %q", got, want)
		}
	}
	labelled, _ := Read(store.Key{Space: "shop", Group: "networking.k8s.io", Resource: "ingresses"}, m{
		"metadata": m{"labels": m{"skerry.dev/target": "paris"}, "annotations": m{"skerry.dev/tls": "yes"}},
		"spec":     m{"ingressClassName": "skerry"}})
	if len(labelled.Words) != 2 {
		t.Errorf("a label and an annotation that mean nothing: %q", labelled.Words)
	}
	fine := made("shop", "in", 1, m{"rules": []any{rule("a.test", "Prefix /", "web:http", "Exact /x", "web")}})
	table, words, _ := Build(world(map[string][]string{"shop": {"a.test"}}, fine))
	if len(words[fine.Key]) > 0 || len(table.backends()) != 1 {
		t.Errorf("nothing is wrong with it, and it hears %q; %v", words[fine.Key], table.backends())
	}
}

// The Table finds what a plain search through all rules finds.
func FuzzFind(f *testing.F) {
	f.Add("/a/b/c", uint64(1))
	f.Add("//", uint64(2))
	f.Add("/a/", uint64(3))
	f.Add("", uint64(4))
	f.Add("a", uint64(5))
	f.Fuzz(func(t *testing.T, asked string, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 1))
		var pairs []string
		used := map[string]bool{}
		for i := range 1 + random.IntN(8) {
			kind := []string{"Exact", "Prefix"}[random.IntN(2)]
			path := "/"
			for range random.IntN(4) {
				path += []string{"a", "b", "/", "aa", asked[:random.IntN(len(asked)+1)]}[random.IntN(5)]
			}
			if id := kind + strings.TrimSuffix(path, "/"); !used[id] && len(path) <= mostPath {
				used[id] = true
				pairs = append(pairs, kind+" "+path, fmt.Sprint("s", i))
			}
		}
		table, _, _ := Build(world(map[string][]string{"shop": {"a.test"}},
			made("shop", "in", 1, m{"rules": []any{rule("a.test", pairs...)}})))
		if !strings.HasPrefix(asked, "/") {
			asked = "/" + asked
		}
		best, want := -1, ""
		elements := strings.Split(asked, "/")
		for i := 0; i < len(pairs); i += 2 {
			kind, path, _ := strings.Cut(pairs[i], " ")
			parts := strings.Split(strings.TrimSuffix(path, "/"), "/")
			if kind == "Exact" && path == asked {
				best, want = len(asked)+1, pairs[i+1]
			} else if kind == "Prefix" && len(parts) <= len(elements) && slices.Equal(parts, elements[:len(parts)]) && len(path) > best {
				if n := len(strings.TrimSuffix(path, "/")); n > best {
					best, want = n, pairs[i+1]
				}
			}
		}
		if got := table.leads("a.test", asked); got != want {
			t.Errorf("%q of %q leads to %q, want %q", asked, pairs, got, want)
		}
	})
}

// Nothing that is written breaks the reader, and no host is served that was not granted.
func FuzzRead(f *testing.F) {
	f.Add("a.test", "/x", "web", "*.b.test", "passthrough")
	f.Add("*.*", "x", "", "", "")
	f.Fuzz(func(t *testing.T, host, path, service, grant, word string) {
		in, _ := Read(store.Key{Space: "shop", Group: "networking.k8s.io", Resource: "ingresses", Namespace: "app", Name: "in"},
			m{"metadata": m{"annotations": m{"skerry.dev/tls": word}}, "spec": m{"ingressClassName": "skerry",
				"rules": []any{rule(host, "Prefix "+path, service), nil, m{"http": 1}}, "tls": []any{m{"hosts": []any{host, 1}}, 2}}})
		table, _, _ := Build(world(map[string][]string{"shop": {grant}}, in))
		for h := range table.hosts {
			if !grantsOf([]string{grant}).allows(h) {
				t.Errorf("host %q is served with the grant %q", h, grant)
			}
		}
		table.leads(host, path)
	})
}

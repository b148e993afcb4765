package server_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// spacesDomain is the domain below which spaces have hosts.
const spacesDomain = "spaces.test"

// generator makes requests of one phase: all name its space, and want what is in another one.
type generator struct {
	w     *world
	phase phase
	r     *rand.Rand
	other *prey // the space that the request of the moment is after
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// chance is true in n of 100 cases.
func (g *generator) chance(n int) bool { return g.r.IntN(100) < n }

func (g *generator) request() request {
	for g.other = g.phase.space; g.other == g.phase.space; {
		g.other = pick(g.r, g.w.spaces...)
	}
	method := pick(g.r, http.MethodGet, http.MethodGet, http.MethodGet, http.MethodGet, http.MethodPost,
		http.MethodPut, http.MethodPatch, http.MethodDelete,
		pick(g.r, http.MethodHead, http.MethodOptions, http.MethodConnect, "LIST", "WATCH", "get"))
	what := g.resource(method)
	target := g.target(what)
	for g.phase.who.site == "" && named(target) != g.phase.space.name && g.exists(named(target)) ||
		!g.meant(method, target) {
		what = g.resource(method)
		target = g.target(what)
	}
	query, watches := g.query(method)
	body, contentType := "", ""
	if method != http.MethodGet && g.chance(90) {
		body, contentType = g.body(method, what)
	}
	if g.chance(8) {
		query, watches = "", false
		method, what, body, contentType = g.ofBorn()
		for target = g.target(what); named(target) != g.phase.space.name && g.exists(named(target)); {
			target = g.target(what)
		}
	}
	var text strings.Builder
	target, host := g.host(target)
	fmt.Fprintf(&text, "%s %s%s HTTP/1.1\r\nHost: %s\r\n", method, target, query, host)
	for _, h := range g.headers() {
		text.WriteString(h + "\r\n")
		watches = watches || strings.HasPrefix(h, "Upgrade")
	}
	if body != "" {
		fmt.Fprintf(&text, "Content-Type: %s\r\nContent-Length: %d\r\n", contentType, len(body))
	}
	text.WriteString("\r\n" + body)
	return request{text.String(), watches || strings.Contains(target, "/watch/")}
}

// host is a host that a request may be sent to without meaning another space by it: one that is
// nothing to the center, the host of another space where the path names the phase's own, or the
// host of that, by which the path is shorter.
func (g *generator) host(target string) (shorter, host string) {
	own := g.phase.space.name
	if rest, ok := strings.CutPrefix(target, "/clusters/"+own+"/"); ok && g.chance(20) {
		return "/" + rest, own + "." + spacesDomain
	}
	hosts := []string{"center.test", g.other.name, g.other.name + ".center.test", spacesDomain}
	if own != "root" && named(target) == own {
		hosts = append(hosts, g.other.name+"."+spacesDomain)
	}
	return target, pick(g.r, hosts...)
}

func (g *generator) exists(space string) bool {
	for _, s := range g.w.spaces {
		if s.name == space {
			return true
		}
	}
	return false
}

// meant is false for what somebody with rights may do and what would leave the test without
// anything to find: removing spaces, definitions, rights.
func (g *generator) meant(method, target string) bool {
	reads := method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
	decoded, _ := url.PathUnescape(target)
	return reads || !g.phase.who.may(g.phase.space.name) ||
		!slices.ContainsFunc([]string{"customresourcedefinitions", "skerry.dev/v1alpha1/spaces",
			"clusterrolebindings", "serviceaccounts"}, func(kept string) bool {
			return strings.Contains(decoded, kept) && !strings.HasSuffix(decoded, "/token")
		})
}

// resource is a path within a space's API, mostly one that the method is for.
func (g *generator) resource(method string) string {
	if g.chance(6) {
		return pick(g.r, "/api", "/apis", "/api/v1", "/apis/example.com/v1", "/openapi/v2", "/openapi/v3",
			"/openapi/v3/apis/example.com/v1", "/metrics", "/logs",
			"/debug/pprof/heap", "/.well-known/openid-configuration", "/openid/v1/jwks", "/version", "/readyz",
			"/enroll/v1", "/", "")
	}
	if g.chance(12) {
		return g.view(method)
	}
	base, resource := "/api/v1", pick(g.r, "configmaps", "configmaps", "secrets", "services",
		"serviceaccounts", "pods", "pods", "persistentvolumeclaims", "events", "namespaces")
	switch g.r.IntN(8) {
	case 0:
		base, resource = "/apis/apps/v1", pick(g.r, "deployments", "deployments", "replicasets", "controllerrevisions")
		if g.chance(30) {
			base, resource = "/apis/batch/v1", "jobs"
		}
	case 1:
		base, resource = "/apis/example.com/v1", "widgets"
		if g.chance(40) {
			base, resource = "/apis/stable.example.com/v1", "boats"
		}
	case 2:
		base, resource = pickPair(g.r, [2]string{"/apis/skerry.dev/v1alpha1", "placements"},
			[2]string{"/apis/skerry.dev/v1alpha1", "spaces"},
			[2]string{"/apis/skerry.dev/v1alpha1", "upsyncs"},
			[2]string{"/apis/apiextensions.k8s.io/v1", "customresourcedefinitions"},
			[2]string{"/apis/rbac.authorization.k8s.io/v1", "clusterrolebindings"},
			[2]string{"/apis/rbac.authorization.k8s.io/v1", "rolebindings"},
			[2]string{"/apis/authentication.k8s.io/v1", "tokenreviews"},
			[2]string{"/apis/authentication.k8s.io/v1", "selfsubjectreviews"},
			[2]string{"/apis/authorization.k8s.io/v1", "subjectaccessreviews"},
			[2]string{"/apis/coordination.k8s.io/v1", "leases"})
	}
	if g.chance(3) {
		base += "/watch"
	}
	clusterWide := slices.Contains([]string{"namespaces", "placements", "upsyncs", "spaces", "customresourcedefinitions",
		"clusterrolebindings"}, resource)
	if !clusterWide && !strings.HasSuffix(resource, "reviews") && g.chance(75) {
		base += "/namespaces/" + g.name("default", "default", "default", "app", "kube-system", g.other.name)
	}
	base += "/" + resource
	named, writes := map[string]int{http.MethodPost: 10, http.MethodPut: 95, http.MethodPatch: 95,
		http.MethodDelete: 80}[method]
	if !writes {
		named = 60
	}
	if g.chance(named) {
		base += "/" + g.name("web", "web", "web", "bot", "default", "new", g.other.fixed, g.phase.space.fixed)
		if g.chance(20) {
			base += "/" + pick(g.r, "status", "scale", "token", "log", "exec?command=sh", "proxy/", "proxy/../../..",
				"finalize", "binding", "eviction", "attach", "ephemeralcontainers")
		}
	}
	return base
}

// view is a path of what spaces are shown of their sites.
func (g *generator) view(method string) string {
	of := pick(g.r, "/api/v1/nodes", "/api/v1/nodes", "/api/v1/endpoints", "/api/v1/namespaces/default/endpoints",
		"/apis/discovery.k8s.io/v1/endpointslices", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
		"/apis/metrics.k8s.io/v1beta1/pods", "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods",
		"/apis/metrics.k8s.io/v1beta1/nodes",
		"/apis/storage.k8s.io/v1/storageclasses", "/apis/networking.k8s.io/v1/ingressclasses",
		"/apis/events.k8s.io/v1/events",
		"/targets/oslo/api/v1/pods", "/targets/of-"+g.other.name+"/api/v1/namespaces/default/pods",
		"/targets/oslo/of-"+g.other.name+"/apis",
		"/targets/../clusters/"+g.other.name+"/api/v1/secrets")
	if strings.HasSuffix(of, "/nodes") && g.phase.space.name == "root" {
		return "/api/v1/endpoints" // root sees the Nodes of all targets
	}
	if strings.HasPrefix(of, "/targets/") || method == http.MethodPost && g.chance(80) || g.chance(40) {
		return of
	}
	of += "/" + g.name("web", "hook", "oslo", "of-"+g.other.name, "of-"+g.phase.space.name, g.other.fixed)
	if g.chance(25) {
		of += "/" + pick(g.r, "status", "proxy", "proxy/metrics", "proxy/../../..", "log", "exec", "scale")
	}
	return of
}

func pickPair(r *rand.Rand, of ...[2]string) (string, string) { p := pick(r, of...); return p[0], p[1] }

// name is one of these names, now and then one that climbs out of its place in a key.
func (g *generator) name(of ...string) string {
	if !g.chance(12) {
		return pick(g.r, of...)
	}
	o := g.other.name
	return pick(g.r, "..%2F"+o+"%2Fdefault", "..%2f..%2f"+o+"%2fdefault%2fweb", o+"%2Fdefault", "%2e%2e", "..",
		".", "%2F", "default%2F..%2F..%2F"+o+"%2Fdefault",
		"%252e%252e%252f"+o, "web%00"+o, "web;"+o, "*", "%2A", "web%20", "-", "web?x=/clusters/"+o)
}

// target is where the request goes: the space's path to a resource, with a trick or without.
func (g *generator) target(what string) string {
	s, o := g.phase.space.name, g.other.name
	here, there := "/clusters/"+s, "/clusters/"+o
	if s == "root" || g.phase.who.site != "" {
		here = ""
	}
	if g.chance(45) {
		return here + what
	}
	return pick(g.r,
		here+"/.."+there[len("/clusters"):]+what, here+"/../.."+there+what, here+"/%2e%2e/"+o+what,
		here+"/..%2f"+o+what, here+"%2f..%2f"+o+what,
		here+"/."+what, here+"/.%2f"+what, here+"/"+what, here+"//"+o+what, here+there+what, here+"/"+there+what,
		here+"/api/.."+"/../"+o+what,
		here+"/apis/..%2f..%2f"+o+what, here+"/%252e%252e/"+o+what, here+"/..;/"+o+what, here+"/..%00/"+o+what,
		here+"\\..\\"+o+what, here+"/%5c..%5c"+o+what,
		here+what+"/../../../../../.."+there+what, here+what+"/..%2f..%2f..%2f..%2f.."+strings.ReplaceAll(there,
			"/", "%2f")+what, here+"?"+there+what,
		here+"%3f"+there+what, here+"/#"+there+what, "/clusters/*"+what, "/clusters/%2A"+what,
		"/clusters/"+s+",*"+what, "/clusters/"+s+","+o+what, "/clusters/"+s+"*"+what,
		"/clusters/"+s+"%00"+o+what, "/clusters/"+s+"%20"+what, "/clusters/"+s+"%E2%80%8B"+what,
		"/clusters/"+strings.ToUpper(s)+what, "/clusters//"+o+what, "/clusters/"+what,
		"/clusters/./"+o+what, "/clusters/..%2fclusters%2f"+o+what, "/clusters/"+o[:len(o)-1]+what,
		"/clusters/"+s+":"+o+what, "/clusters/"+s+"@"+o+what, "/clusters/skerry.dev"+what,
		"//clusters/"+o+what, "/./clusters/"+o+what, "/x/../clusters/"+o+what, "/clusters%2f"+o+what,
		"/CLUSTERS/"+o+what, "/clusters;a/"+o+what, "/services"+there+what,
		"https://center.test"+here+what, "https://"+o+there+what, "https://center.test"+here+"/../"+o+what,
		here+"/api/v1/proxy/namespaces/default/services/web:80/../../.."+what,
		here+"/api/v1/namespaces/default/services/web/proxy"+there+what,
		here+"/apis/skerry.dev/v1alpha1/spaces/"+o+"/proxy"+what)
}

// query returns the query and whether the request watches.
func (g *generator) query(method string) (string, bool) {
	if g.chance(55) || method != http.MethodGet && g.chance(60) {
		return "?fieldManager=x", false
	}
	s, o, q, watches := g.phase.space, g.other, []string(nil), false
	for range 1 + g.r.IntN(3) {
		q = append(q, pick(g.r, "limit=1", "limit=1&continue="+o.next, "continue="+s.next,
			"limit=5&continue="+g.forged(), "resourceVersion=0", "resourceVersion="+o.version,
			"resourceVersion="+o.version+"&resourceVersionMatch=Exact",
			"resourceVersion=1&resourceVersionMatch=NotOlderThan", "labelSelector=of="+o.fixed, "labelSelector=of",
			"fieldSelector=metadata.name="+o.fixed, "fieldSelector=metadata.namespace="+o.name,
			"fieldSelector=metadata.name=web", "space="+o.name, "cluster=*",
			"dryRun=All", "fieldManager=x&force=true", "fieldValidation=Strict",
			"propagationPolicy="+pick(g.r, "Foreground", "Background", "Orphan"), "pretty=true",
			"orphanDependents=true", "gracePeriodSeconds=0", "export=true", "%2e%2e=/clusters/"+o.name,
			"name="+o.fixed, "path=/../"+o.name))
	}
	if method == http.MethodGet && g.chance(20) {
		watches = true
		q = append(q, pick(g.r, "watch=1", "watch=true&resourceVersion=0", "watch=1&resourceVersion=1",
			"watch=1&resourceVersion="+o.version, "watch=1&allowWatchBookmarks=true",
			"watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
			"watch=1&timeoutSeconds=1"))
	}
	return "?" + strings.Join(q, "&"), watches
}

// forged is a continue token that nobody was given: its start climbs out of the space.
func (g *generator) forged() string {
	o := g.other.name
	start := pick(g.r, "../"+o+"/default/a", "../../configmaps/"+o+"/default/a", "/../"+o+"/",
		o+"/default/web\x00", "default/../../"+o+"/default/a", "\x00", "../", "..%2f"+o,
		"/registry/configmaps/"+o+"/default/web", "-b/default/")
	token := fmt.Sprintf(`{"v":"meta.k8s.io/v1","rv":%s,"start":%q}`, pick(g.r, "-1", g.other.version), start)
	return base64.RawURLEncoding.EncodeToString([]byte(token))
}

// headers are one or a few that mean something to some API, proxy or codec.
func (g *generator) headers() []string {
	o := g.other
	out := []string{"Accept: " + pick(g.r, "application/json", "*/*", "application/vnd.kubernetes.protobuf",
		"application/cbor", "application/yaml",
		"application/json;as=Table;v=v1;g=meta.k8s.io",
		"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
		"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
		"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")}
	if g.chance(50) {
		out[0] = "Accept: application/json"
	}
	if g.chance(70) {
		return out
	}
	upgrade := []string{"Connection: Upgrade", "Upgrade: " + pick(g.r, "websocket", "SPDY/3.1"),
		"Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Origin: https://center.test",
		"Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io." +
			base64.RawURLEncoding.EncodeToString([]byte(pick(g.r, o.more...))) + ", base64.binary.k8s.io"}
	return append(out, pick(g.r,
		[]string{"Authorization: Bearer " + pick(g.r, o.more...)},
		[]string{"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("admin:admin"))}, upgrade,
		[]string{"Impersonate-User: owner-of-" + o.name},
		[]string{"Impersonate-User: admin", "Impersonate-Group: system:masters"},
		[]string{"Impersonate-User: system:skerry:center", "Impersonate-Group: system:masters"},
		[]string{"Impersonate-User: system:serviceaccount:default:bot", "Impersonate-Extra-Space: " + o.name},
		[]string{"Impersonate-Group: system:masters"}, []string{"Impersonate-Uid: " + o.uid},
		[]string{"X-Remote-User: admin", "X-Remote-Group: system:masters"},
		[]string{"X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: skerry.invalid"},
		[]string{"Forwarded: host=skerry.invalid"},
		[]string{"X-Original-Url: /clusters/" + o.name + "/api/v1/secrets"},
		[]string{"X-Rewrite-Url: /clusters/" + o.name + "/api/v1/secrets"},
		[]string{"X-Forwarded-Prefix: /clusters/" + o.name},
		[]string{"X-Http-Method-Override: DELETE"}, []string{"X-Kubernetes-Cluster: " + o.name},
		[]string{"X-Space: *", "Skerry-Space: " + o.name}, []string{"Accept-Encoding: gzip"},
		[]string{"If-None-Match: *"}, []string{"Cookie: token=" + o.bearer})...)
}

package server_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// world is a center whose spaces hold objects of equal names, each with a canary of its space in
// it.
type world struct {
	t          *testing.T
	c          *center
	handler    http.Handler
	spaces     []*prey
	identities []identity
	inside     []identity       // those whose requests come through the gateway of a site
	tokens     map[string]*prey // canary -> whose it is
	phase      atomic.Pointer[phase]
	hooks      *hookJudge
	seen       atomic.Int64 // the revision up to which the store's writes have been judged

	ownReads, ownWrites, siteReads atomic.Int64
	asked                          atomic.Int64 // what sites were asked of the space of the phase

	mu      sync.Mutex
	escapes []string
	codes   map[int]int
}

// prey is a space that requests want to get into or out of.
type prey struct {
	name    string
	fixed   string // the canary in what restore makes
	written string // the canary in what requests write
	bearer  string // a token of its ServiceAccount "bot", who may do everything in it
	atSite  string // a token of it for the pods of a site
	more    []string
	uid     string // of its ConfigMap default/web
	next    string // a continue token
	version string
}

// identity is somebody who makes requests.
type identity struct {
	name string
	tls  *tls.ConnectionState
	bot  *prey  // the space whose ServiceAccount it is
	in   string // the space that it has all rights in, "*" for all
	site string // where it is a pod
}

func (i identity) may(space string) bool { return i.in == "*" || i.in == space }

// raiders are the spaces: one that is the beginning of another one, and one in which nobody but the
// admin has any rights.
var raiders = []string{"team", "team-b", "tea", "vault"}

func (w *world) populate() {
	w.spaces = []*prey{{name: "root"}}
	for _, name := range raiders {
		w.c.createSpace(name, "Retain")
		w.spaces = append(w.spaces, &prey{name: name})
	}
	nobody := &tls.ConnectionState{HandshakeComplete: true}
	w.identities = []identity{
		{name: "everywhere", tls: w.person("admin", "system:masters"), in: "*"},
		{name: "nobody", tls: nobody},
		{name: "somebody without rights", tls: w.person("stranger", "strangers")},
	}
	for i, s := range w.spaces {
		s.fixed, s.written = canary(2*i), canary(2*i+1)
		w.tokens[s.fixed], w.tokens[s.written] = s, s
	}
	w.lend()
	w.offer()
	w.restore()
	for _, s := range w.spaces[1 : len(w.spaces)-1] {
		w.identities = append(
			w.identities,
			identity{name: "owner of " + s.name, tls: w.person("owner-of-" + s.name), in: s.name},
			identity{name: "bot of " + s.name, tls: nobody, bot: s, in: s.name},
		)
		w.inside = append(w.inside,
			identity{name: "pod of " + s.name, tls: nobody, bot: s, in: s.name, site: "oslo"})
	}
}

// lend has one space served with the definitions of another one: two spaces whose objects one
// server answers for.
func (w *world) lend() {
	def := sharedDefinition("boats", "Boat", "name")
	def.SetAnnotations(map[string]string{"skerry.dev/shared": "true"})
	_, err := dyn(w.t, w.c.api.Loopback("vault")).Resource(crdsGVR).Create(w.t.Context(), def, metav1.CreateOptions{})
	must(w.t, err)
	_, err = dyn(w.t, w.c.admin("root")).Resource(spacesGVR).Patch(w.t.Context(), "team-b", types.MergePatchType,
		[]byte(`{"spec":{"apis":[{"fromSpace":"vault","group":"stable.example.com"}]}}`), metav1.PatchOptions{})
	must(w.t, err)
}

// targetKey begins the key of the target that a space uses.
const targetKey = "/registry/skerry.dev/synctargets/root/of-"

// offer has each space use one target, which shows a canary of the space.
func (w *world) offer() {
	root := dyn(w.t, w.c.admin("root"))
	for _, s := range w.spaces[1:] {
		site := object("skerry.dev/v1alpha1", "SyncTarget", "", "of-"+s.name)
		site.SetLabels(map[string]string{"used-by": s.name, "canary": s.fixed})
		_, err := root.Resource(syncTargetsGVR).Create(w.t.Context(), site, metav1.CreateOptions{})
		must(w.t, err)
		_, err = root.Resource(spacesGVR).Patch(w.t.Context(), s.name, types.MergePatchType,
			[]byte(`{"spec":{"locationSelector":{"matchLabels":{"used-by":"`+s.name+`"}}}}`), metav1.PatchOptions{})
		must(w.t, err)
	}
}

// person is a connection with the client certificate of a user.
func (w *world) person(name string, groups ...string) *tls.ConnectionState {
	return w.c.connection(name, groups...)
}

func (c *center) connection(name string, groups ...string) *tls.ConnectionState {
	cert, err := x509.ParseCertificate(c.ca.issue(c.t, name, groups...).Certificate[0])
	must(c.t, err)
	return &tls.ConnectionState{HandshakeComplete: true, PeerCertificates: []*x509.Certificate{cert}}
}

// canary is 21 bytes long, so that Base64 of it is itself found in Base64.
func canary(i int) string { return fmt.Sprintf("cnry-%016x", uint64(i+1)*0x9e3779b97f4a7c15) }

var canaries = regexp.MustCompile(`cnry-[0-9a-f]{16}|Y25yeS[A-Za-z0-9+/]{22}`)

// whose finds the spaces that something shows canaries of, except those that the request had
// itself.
func (w *world) whose(shown []byte, request string) map[*prey]string {
	out := map[*prey]string{}
	for _, found := range canaries.FindAll(shown, -1) {
		token := string(found)
		if plain, err := base64.StdEncoding.DecodeString(token); err == nil && len(token) == 28 {
			token = string(plain)
		}
		if s := w.tokens[token]; s != nil && !strings.Contains(request, token) {
			out[s] = token
		}
	}
	return out
}

var boatsV1 = schema.GroupVersionResource{Group: "stable.example.com", Version: "v1", Resource: "boats"}

var slicesV1 = schema.GroupVersionResource{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"}

var widgetsV1 = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// restore makes what requests with rights have removed, and takes the tokens and versions of the
// moment.
func (w *world) restore() {
	for _, s := range w.spaces {
		w.restoreSpace(s)
	}
	w.settle()
}

func (w *world) restoreSpace(s *prey) {
	ctx, d, api := w.t.Context(), dyn(w.t, w.c.api.Loopback(s.name)), clients(w.t, w.c.api.Loopback(s.name))
	// What is in a namespace outlives its deletion by seconds: the center would empty it in the time
	// of another phase.
	within(w.t, time.Minute, "namespaces of "+s.name, func() bool {
		_, err := api.CoreV1().Namespaces().Create(
			ctx,
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "app"}},
			metav1.CreateOptions{},
		)
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return false
		}
		all, err := api.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
		must(w.t, err)
		there := map[string]bool{}
		for _, ns := range all.Items {
			if ns.DeletionTimestamp != nil {
				return false
			}
			there[ns.Name] = true
		}
		return there["app"] && there["default"]
	})
	ensure := func(gvr schema.GroupVersionResource, kind, name string, fields map[string]any) {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": gvr.GroupVersion().String(), "kind": kind}}
		for k, v := range fields {
			o.Object[k] = v
		}
		o.SetName(name)
		o.SetLabels(map[string]string{"of": s.fixed})
		o.SetAnnotations(map[string]string{"canary": s.fixed})
		within(w.t, time.Minute, kind+" "+name+" of "+s.name, func() bool {
			var to dynamic.ResourceInterface = d.Resource(gvr)
			if gvr != placementsGVR {
				to = d.Resource(gvr).Namespace("default")
			}
			_, err := to.Create(ctx, o.DeepCopy(), metav1.CreateOptions{})
			return err == nil || apierrors.IsAlreadyExists(err)
		})
	}
	def := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets.example.com")
	spec := crd("v1")
	spec["names"].(map[string]any)["categories"] = []any{s.fixed} // discovery shows it, and OpenAPI this:
	unstructured.SetNestedField(
		spec["versions"].([]any)[0].(map[string]any),
		s.fixed,
		"schema",
		"openAPIV3Schema",
		"description",
	)
	def.Object["spec"] = spec
	if _, err := d.Resource(crdsGVR).Create(ctx, def, metav1.CreateOptions{}); err != nil &&
		!apierrors.IsAlreadyExists(err) {
		w.t.Fatal(err)
	}
	core := func(r string) schema.GroupVersionResource { return corev1.SchemeGroupVersion.WithResource(r) }
	ensure(core("configmaps"), "ConfigMap", "web", map[string]any{"data": map[string]any{"a": s.fixed}})
	ensure(core("configmaps"), "ConfigMap", s.fixed, nil)
	ensure(core("secrets"), "Secret", "web", map[string]any{"stringData": map[string]any{"a": s.fixed}})
	ensure(
		core("services"),
		"Service",
		"web",
		map[string]any{"spec": map[string]any{"type": "ExternalName", "externalName": s.fixed}},
	)
	ensure(core("serviceaccounts"), "ServiceAccount", "bot", nil)
	ensure(slicesV1, "EndpointSlice", "web", map[string]any{"addressType": "FQDN", "endpoints": []any{}})
	ensure(core("endpoints"), "Endpoints", "web", nil)
	ensure(widgetsV1, "Widget", "web", map[string]any{"spec": map[string]any{"v1": s.fixed}})
	if s.name == "vault" || s.name == "team-b" {
		ensure(boatsV1, "Boat", "web", map[string]any{"spec": map[string]any{"name": s.fixed}})
	}
	ensure(placementsGVR, "Placement", "web", map[string]any{"spec": map[string]any{"objects": []any{map[string]any{}},
		"targets": map[string]any{"names": []any{"nowhere"}}}})
	deploy, err := api.AppsV1().Deployments("default").Create(ctx, deployment(s.fixed), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		w.t.Fatal(deploy, err)
	}
	_, err = api.RbacV1().ClusterRoleBindings().Create(
		ctx,
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "owner"},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "owner-of-" + s.name},
				{Kind: "ServiceAccount", Namespace: "default", Name: "bot"}}},
		metav1.CreateOptions{},
	)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		w.t.Fatal(err)
	}
	w.hooks.restore(s)
	w.bear(s)
	w.remember(s)
}

// remember keeps what requests in other spaces will bring: tokens for several audiences, a continue
// token, a UID, a version.
func (w *world) remember(s *prey) {
	ctx, api := w.t.Context(), clients(w.t, w.c.api.Loopback(s.name)).CoreV1()
	s.more = nil
	for _, audiences := range [][]string{nil, {"https://center.test/clusters/team"},
		{"https://center.test/clusters/vault"}} {
		token, err := api.ServiceAccounts("default").CreateToken(ctx, "bot", &authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}, metav1.CreateOptions{})
		must(w.t, err)
		s.more = append(s.more, token.Status.Token)
	}
	s.bearer = s.more[0]
	if s.name != "root" {
		var err error
		s.atSite, _, err = w.c.api.IssueForSite(ctx, s.name, "default", "bot", "oslo")
		must(w.t, err)
		s.more = append(s.more, s.atSite)
	}
	list, err := api.ConfigMaps("default").List(ctx, metav1.ListOptions{Limit: 1})
	must(w.t, err)
	s.next, s.version = list.Continue, list.ResourceVersion
	web, err := api.ConfigMaps("default").Get(ctx, "web", metav1.GetOptions{})
	must(w.t, err)
	s.uid = string(web.UID)
}

// followStore judges every write in the store: it must be in the space of the phase, by somebody
// who may write there.
func (w *world) followStore(ctx context.Context) {
	for resp := range w.c.store.Client().Watch(ctx, "/registry/", clientv3.WithPrefix()) {
		p := w.phase.Load()
		for _, e := range resp.Events {
			key := string(e.Kv.Key)
			switch {
			case p == nil:
			case spaceIn(key) != p.space.name || !p.who.may(p.space.name):
				w.escape("%s, whose requests named space %s, wrote %s", p.who.name, p.space.name, key)
			default:
				w.ownWrites.Add(1)
			}
			if e.Type == mvccpb.Event_PUT {
				for s := range w.whose(e.Kv.Value, "") {
					if spaceIn(key) != s.name && key != targetKey+s.name {
						w.escape("%s holds what belongs to space %s", key, s.name)
					}
				}
			}
			w.seen.Store(e.Kv.ModRevision)
		}
	}
}

// spaceIn returns the space of a storage key: it stands behind the resource, which is one segment
// for most built-in kinds and two for Services and all others.
func spaceIn(key string) string {
	parts := strings.Split(strings.TrimPrefix(key, "/registry/"), "/")
	behind := 1
	if parts[0] == "services" || strings.Contains(parts[0], ".") {
		behind = 2
	}
	if len(parts) <= behind {
		return ""
	}
	return parts[behind]
}

// settle returns when nothing is written any more and everything that was is judged.
func (w *world) settle() {
	last, quiet := int64(-1), time.Now()
	within(w.t, 60*time.Second, "writes in the store", func() bool {
		revision, err := w.c.store.Revision(w.t.Context())
		must(w.t, err)
		if revision != last || w.seen.Load() < revision {
			last, quiet = revision, time.Now()
		}
		return time.Since(quiet) > 50*time.Millisecond
	})
}

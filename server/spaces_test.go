package server_test

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/apiserver"
	"skerry.dev/skerry/store"
)

func deployment(image string) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}}}}}
}

// place decides for ConfigMaps alone.
func place(_ context.Context, _ string, k store.Key, _ metav1.Object) (targets, unit string) {
	return placedIf(k.Resource == "configmaps", "paris")
}

// TestCenter drives one center through what users do in spaces, and ends with a restart. One center
// serves all parts: each is isolated by its space.
func TestCenter(t *testing.T) {
	dir, ca := t.TempDir(), newAuthority(t)
	c := start(t, dir, ca, place, func(config *apiserver.Config) {
		config.SpacesDomain,
			config.Sites = spacesDomain, &askedSites{}
	})
	for _, s := range []string{"team", "team-b"} {
		c.createSpace(s, "Retain")
	}
	for _, part := range []struct {
		name string
		test func(*testing.T, *center)
	}{
		{"equal names", equalNames}, {"custom resources", customResources}, {"access", access},
		{"strangers", strangers}, {"nobodies", nobodies}, {"names that climb", climbingNames}, {"hosts", byHost},
		{"borrowed APIs", borrowedAPIs}, {"own kinds", ownKinds}, {"annotations", annotations},
		{"front", front}, {"documents", documents}, {"namespaces", namespaces}, {"services", services},
		{"allocated", allocated}, {"devices", devices}, {"mirrored pods", mirroredPods}, {"deleting a space", deletingSpace},
		{"content types", contentTypes}, {"versions", versions}, {"bookmarks", bookmarks}, {"preferred versions", preferred},
		{"bookmarks of custom resources", customBookmarks}, {"custom kinds", customKinds}, {"stable kinds", stable}, {"unwritten kinds", unwritten},
		{"creator", creator}, {"costly expressions", costlyExpressions}, {"absurd quantities", absurdQuantities},
		{"held rights", heldRights}, {"imported objects", importedObjects}, {"pruned", pruned}, {"labels", metricLabels},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.test(t, c) }) {
			t.FailNow()
		}
	}
	incarnation := c.store.Incarnation()
	c.stop()
	c = start(t, dir, ca, place)
	if c.store.Incarnation() != incarnation {
		t.Error("another incarnation after a restart")
	}
	for _, s := range []string{"team", "team-b"} {
		d, err := clients(t, c.admin(s)).AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
		must(t, err)
		if want := "image-" + s; d.Spec.Template.Spec.Containers[0].Image != want {
			t.Errorf("after a restart space %s has %s", s, d.Spec.Template.Spec.Containers[0].Image)
		}
		w, err := dyn(t, c.admin(s)).Resource(widgets(s)).Namespace("default").Get(t.Context(), "w", metav1.GetOptions{})
		must(t, err)
		if w.GetAPIVersion() != widgets(s).GroupVersion().String() {
			t.Errorf("after a restart the widget of %s is %s", s, w.GetAPIVersion())
		}
	}
}

func equalNames(t *testing.T, c *center) {
	ctx := t.Context()
	for _, s := range []string{"team", "team-b"} {
		api := clients(t, c.admin(s)).AppsV1().Deployments("default")
		w, err := api.Watch(ctx, metav1.ListOptions{})
		must(t, err)
		_, err = api.Create(ctx, deployment("image-"+s), metav1.CreateOptions{})
		must(t, err)
		e := <-w.ResultChan()
		w.Stop()
		if got := e.Object.(*appsv1.Deployment); e.Type != watch.Added ||
			got.Spec.Template.Spec.Containers[0].Image != "image-"+s || got.GetSelfLink() != "" {
			t.Errorf("watch in %s: %s %s selfLink=%q", s, e.Type, got.Spec.Template.Spec.Containers[0].Image, got.GetSelfLink())
		}
		if got := e.Object.(*appsv1.Deployment).Spec.Replicas; got == nil || *got != 1 {
			t.Error("defaults are not set")
		}
	}
	for _, s := range []string{"team", "team-b"} {
		api := clients(t, c.admin(s)).AppsV1().Deployments("default")
		patch := `{"spec":{"template":{"spec":{"containers":[{"name":"c","env":[{"name":"A","value":"` + s + `"}]}]}}}}`
		_, err := api.Patch(ctx, "web", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
		must(t, err)
		force := true
		apply := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":3}}`
		_, err = api.Patch(ctx, "web", types.ApplyPatchType, []byte(apply),
			metav1.PatchOptions{FieldManager: "test", Force: &force})
		must(t, err)
		for _, revision := range []string{"", "0"} {
			list, err := api.List(ctx, metav1.ListOptions{ResourceVersion: revision})
			must(t, err)
			if len(list.Items) != 1 || list.Items[0].GetSelfLink() != "" {
				t.Errorf("list in %s at %q: %d items", s, revision, len(list.Items))
			}
		}
		got, err := api.Get(ctx, "web", metav1.GetOptions{})
		must(t, err)
		if box := got.Spec.Template.Spec.Containers[0]; box.Image != "image-"+s || box.Env[0].Value != s ||
			*got.Spec.Replicas != 3 {
			t.Errorf("in %s after patches: %+v", s, box)
		}
	}
}

func widgets(space string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "example.com",
		Version: map[string]string{"team": "v1", "team-b": "v2"}[space], Resource: "widgets"}
}

func crd(version string) map[string]any {
	props := map[string]any{"spec": map[string]any{"type": "object",
		"properties": map[string]any{version: map[string]any{"type": "string"}}}}
	return map[string]any{"group": "example.com", "scope": "Namespaced",
		"names": map[string]any{"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"},
		"versions": []any{map[string]any{"name": version, "served": true, "storage": true,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": props}}}}}
}

func customResources(t *testing.T, c *center) {
	ctx := t.Context()
	for _, s := range []string{"team", "team-b"} {
		d := dyn(t, c.admin(s))
		def := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets.example.com")
		def.Object["spec"] = crd(widgets(s).Version)
		_, err := d.Resource(crdsGVR).Create(ctx, def, metav1.CreateOptions{})
		must(t, err)
		w := object(widgets(s).GroupVersion().String(), "Widget", "", "w")
		w.Object["spec"] = map[string]any{widgets(s).Version: "yes"}
		within(t, time.Minute, "widgets in "+s, func() bool {
			_, err = d.Resource(widgets(s)).Namespace("default").Create(ctx, w.DeepCopy(), metav1.CreateOptions{})
			return err == nil
		})
		_, resources, err := clients(t, c.admin(s)).Discovery().ServerGroupsAndResources()
		must(t, err)
		var found []string
		for _, l := range resources {
			if strings.HasPrefix(l.GroupVersion, "example.com/") {
				found = append(found, l.GroupVersion)
			}
		}
		if len(found) != 1 || found[0] != widgets(s).GroupVersion().String() {
			t.Errorf("discovery in %s shows %v", s, found)
		}
	}
	c.createSpace("plain", "Retain")
	_, err := dyn(t, c.admin("plain")).Resource(widgets("team")).List(ctx, metav1.ListOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("widgets in a space without the definition: %v", err)
	}
	// Deleting a definition deletes its objects, in that space only.
	d := dyn(t, c.admin("plain"))
	def := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "widgets.example.com")
	def.Object["spec"] = crd("v1")
	_, err = d.Resource(crdsGVR).Create(ctx, def, metav1.CreateOptions{})
	must(t, err)
	must(t, d.Resource(crdsGVR).Delete(ctx, "widgets.example.com", metav1.DeleteOptions{}))
	within(t, time.Minute, "deletion of the definition", func() bool {
		_, err := d.Resource(crdsGVR).Get(ctx, "widgets.example.com", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	_, err = dyn(t, c.admin("team")).Resource(widgets("team")).Namespace("default").Get(ctx, "w", metav1.GetOptions{})
	check(t, err)
	def = object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "things.skerry.dev")
	spec := crd("v1")
	spec["group"] = "skerry.dev"
	spec["names"] = map[string]any{"kind": "Thing", "plural": "things", "singular": "thing", "listKind": "ThingList"}
	def.Object["spec"] = spec
	if _, err = d.Resource(crdsGVR).Create(ctx, def, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a definition in the center's own group: %v", err)
	}
}

func access(t *testing.T, c *center) {
	ctx := t.Context()
	admin := clients(t, c.admin("team"))
	_, err := admin.RbacV1().ClusterRoleBindings().Create(ctx,
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "alice"},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
			Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "alice"},
				{Kind: "ServiceAccount", Namespace: "default", Name: "bot"}}}, metav1.CreateOptions{})
	must(t, err)
	alice := clients(t, c.as("team", "alice"))
	within(t, time.Minute, "alice in team", func() bool {
		_, err := alice.AppsV1().Deployments("default").List(ctx, metav1.ListOptions{})
		return err == nil
	})
	if _, err := alice.RbacV1().ClusterRoles().List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("edit may list cluster roles: %v", err)
	}
	for _, other := range []string{"team-b", "root"} {
		if _, err := clients(t, c.as(other, "alice")).AppsV1().Deployments("default").List(ctx,
			metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("alice in %s: %v", other, err)
		}
	}
	_, err = admin.CoreV1().ServiceAccounts("default").Create(ctx,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "bot"}}, metav1.CreateOptions{})
	must(t, err)
	token, err := admin.CoreV1().ServiceAccounts("default").CreateToken(ctx, "bot",
		&authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	must(t, err)
	bearer := func(space string) *rest.Config {
		cfg := c.admin(space)
		cfg.CertData, cfg.KeyData, cfg.BearerToken = nil, nil, token.Status.Token
		return cfg
	}
	_, err = clients(t, bearer("team")).AppsV1().Deployments("default").List(ctx, metav1.ListOptions{})
	check(t, err)
	if _, err = clients(t, bearer("team-b")).AppsV1().Deployments("default").List(ctx,
		metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("a token of team in team-b: %v", err)
	}
	must(t, admin.CoreV1().ServiceAccounts("default").Delete(ctx, "bot", metav1.DeleteOptions{}))
	within(t, time.Minute, "the token of a deleted account is refused", func() bool {
		_, err = clients(t, bearer("team")).AppsV1().Deployments("default").List(ctx, metav1.ListOptions{})
		return apierrors.IsUnauthorized(err)
	})
}

func ownKinds(t *testing.T, c *center) {
	ctx := t.Context()
	d := dyn(t, c.admin("team"))
	bad := object("skerry.dev/v1alpha1", "Placement", "", "p")
	bad.Object["spec"] = map[string]any{"objects": []any{map[string]any{}},
		"targets": map[string]any{"selectors": []any{map[string]any{}}, "count": int64(-1)}}
	_, err := d.Resource(placementsGVR).Create(ctx, bad, metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.targets.count") {
		t.Errorf("an invalid count: %v", err)
	}
	badConstraints(t, c)
	bad.Object["spec"] = map[string]any{"objects": []any{map[string]any{}},
		"targets": map[string]any{"names": []any{"a"}, "spred": "x"}}
	_, err = d.Resource(placementsGVR).Create(ctx, bad, metav1.CreateOptions{FieldValidation: "Strict"})
	if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "spec.targets.spred") {
		t.Errorf("an unknown field: %v", err)
	}
	for _, wrong := range []struct {
		field string
		value map[string]any
		says  string
	}{
		{"move", map[string]any{"type": "Teleport"}, "spec.move.type"},
		{"move", map[string]any{"readyTimeout": "soon"}, "spec.move.readyTimeout"},
		{"move", map[string]any{"readyTimeout": "10ms"}, "at least 1s"},
		{"sync", map[string]any{"whenDrifted": "Ignore"}, "spec.sync.whenDrifted"},
		{"sync", map[string]any{"whenAlreadyExists": "Overwrite"}, "spec.sync.whenAlreadyExists"},
		{"sync", map[string]any{"whenPlacementDeleted": "Keep"}, "spec.sync.whenPlacementDeleted"},
		{"sync", map[string]any{"retainFields": []any{"spec.replicas"}}, "spec.sync.retainFields[0]"},
		{"sync", map[string]any{"retainFields": []any{"/spec/replicas", "/status"}}, "status cannot be retained"},
		{"sync", map[string]any{"retainFields": []any{"/metadata/name"}}, "only single labels and annotations"},
		{"sync", map[string]any{"retainFields": []any{"/metadata/annotations/skerry.dev~1origin-uid"}},
			"labels and annotations of skerry.dev"},
	} {
		bad.Object["spec"] = map[string]any{"objects": []any{map[string]any{}},
			"targets":   map[string]any{"names": []any{"a"}},
			wrong.field: wrong.value}
		if _, err = d.Resource(placementsGVR).Create(ctx, bad, metav1.CreateOptions{}); !apierrors.IsInvalid(err) ||
			!strings.Contains(err.Error(), wrong.says) {
			t.Errorf("%v: %v", wrong.value, err)
		}
	}
	bad.Object["spec"] = map[string]any{"objects": []any{map[string]any{}}, "targets": map[string]any{"names": []any{"a"}},
		"move": map[string]any{"type": "BreakBeforeMake"}, "sync": map[string]any{"whenPlacementDeleted": "Orphan"}}
	if _, err = d.Resource(placementsGVR).Create(ctx, bad, metav1.CreateOptions{}); !apierrors.IsInvalid(err) ||
		!strings.Contains(err.Error(), "BreakBeforeMake needs") {
		t.Errorf("break before make with what is left behind: %v", err)
	}
	for _, s := range []string{"team", "team-b"} {
		good := object("skerry.dev/v1alpha1", "Placement", "", "p")
		good.Object["spec"] = map[string]any{"objects": []any{map[string]any{}}, "targets": map[string]any{"names": []any{s}}}
		_, err = dyn(t, c.admin(s)).Resource(placementsGVR).Create(ctx, good, metav1.CreateOptions{})
		must(t, err)
	}
	if _, err := d.Resource(spacesGVR).List(ctx, metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("Spaces in a space: %v", err)
	}
	for _, wrong := range []struct {
		link map[string]any
		says string
	}{
		{map[string]any{"class": "satellite"}, "spec.link.class"},
		{map[string]any{"bytesPerDay": "100Ki"}, "at least 1Mi"},
		{map[string]any{"bytesPerDay": "lots"}, "spec.link.bytesPerDay"},
		{map[string]any{"quietHours": "02:00-04:00"}, "give bytesPerDay, too"},
		{map[string]any{"bytesPerDay": "5Mi", "quietHours": "2-4"}, "spec.link.quietHours"},
		{map[string]any{"bytesPerDay": "5Mi", "quietHours": "02:00-02:00"}, "must not end when they begin"},
		{map[string]any{"class": "metered", "bytesPerDay": "5Mi", "quietHours": "22:00-04:00+05:30"}, ""},
	} {
		site := object("skerry.dev/v1alpha1", "SyncTarget", "", "somewhere")
		site.Object["spec"] = map[string]any{"link": wrong.link}
		_, err := dyn(t, c.admin("root")).Resource(syncTargetsGVR).Create(ctx, site,
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if ok := wrong.says == ""; ok != (err == nil) || !ok &&
			(!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), wrong.says)) {
			t.Errorf("%v: %v", wrong.link, err)
		}
	}
	root := object("skerry.dev/v1alpha1", "SyncTarget", "", "root")
	root.Object["spec"] = map[string]any{}
	_, err = dyn(t, c.admin("root")).Resource(syncTargetsGVR).Create(ctx, root,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "no site may have that name") {
		t.Errorf("a site named root: %v", err)
	}
	all, err := dyn(t, c.api.Loopback("*")).Resource(placementsGVR).List(ctx, metav1.ListOptions{})
	must(t, err)
	if len(all.Items) != 2 || all.Items[0].GetSelfLink() == all.Items[1].GetSelfLink() {
		t.Errorf("Placements of all spaces: %d", len(all.Items))
	}
}

func front(t *testing.T, c *center) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.ca.pool(),
		Certificates: []tls.Certificate{
			c.ca.issue(t, "admin", "system:masters")}}, DisableKeepAlives: true}}
	nobody := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.ca.pool()},
		DisableKeepAlives: true}}
	user := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.ca.pool(),
		Certificates: []tls.Certificate{
			c.ca.issue(t, "alice")}}, DisableKeepAlives: true}}
	for _, x := range []struct {
		who        *http.Client
		path       string
		code       int
		has, hasNo string
	}{
		{client, "/clusters/nope/api", 404, "team-b", ""},
		{client, "/clusters/nope/api", 404, "skerry space create", ""},
		{user, "/clusters/nope/api", 403, "no such space", "team"},
		{nobody, "/clusters/nope/api", 403, "", "nope"},
		{client, "/clusters/*/api/v1/pods", 403, "", ""},
		{client, "/clusters/%2A/api/v1/pods", 403, "", ""},
		{client, "/clusters/skerry.dev/apis/apiextensions.k8s.io/v1/customresourcedefinitions", 404, "", ""},
		{client, "/clusters/team/api/v1/namespaces/..%2Fteam-b/configmaps", 404, "", "image"},
		{client, "/clusters/tea/api/v1/configmaps", 404, "", ""},
		{client, "/clusters/team/openapi/v3", 200, "/clusters/team/openapi/v3/apis/example.com/v1", ""},
		{client, "/clusters/team/openapi/v2", 200, "com.example.v1.Widget", ""},
		{client, "/clusters/team/apis/nothing.example.com/v1", 404, "", ""},
		{nobody, "/livez", 200, "ok", ""},
		{nobody, "/readyz?verbose", 200, "[+]spaces ok", ""},
		{nobody, "/version", 200, "+", `"skerry"`}, {client, "/clusters/team/version", 200, `"skerry":true`, "+"},
		{nobody, "/metrics", 403, "", ""},
		{user, "/metrics", 403, "", ""},
		{client, "/metrics", 200, "apiserver_request_total", ""},
		{client, "/metrics", 200, "go_goroutines", ""},
		{client, "/clusters/team/metrics", 404, "", "apiserver"}, // they are about all spaces
		{client, "/clusters/team/metrics/slis", 404, "", "kubernetes"},
		{client, "/debug/pprof/goroutine?debug=1", 200, "goroutine profile: total", ""},
		{client, "/debug/pprof/profile?seconds=1", 200, "", "not found"},
		{client, "/debug/pprof/cmdline", 404, "", c.url},
		{user, "/debug/pprof/goroutine?debug=1", 403, "", "profile"},
		{client, "/clusters/team/debug/pprof/goroutine?debug=1", 404, "", "profile"},
		{nobody, "/api/v1/secrets", 403, "", ""},
		{nobody, "/enroll/v1", http.StatusTeapot, "", ""},
	} {
		resp, err := x.who.Get(c.url + x.path)
		must(t, err)
		body, err := io.ReadAll(resp.Body)
		must(t, err)
		resp.Body.Close()
		if resp.StatusCode != x.code || !strings.Contains(string(body), x.has) ||
			(x.hasNo != "" && strings.Contains(string(body), x.hasNo)) {
			t.Errorf("%s: %d %.300s", x.path, resp.StatusCode, body)
		}
	}
	// What older clients ask for, in the protobuf form.
	doc, err := clients(t, c.admin("team")).Discovery().OpenAPISchema()
	must(t, err)
	if n := len(doc.Definitions.AdditionalProperties); n < 100 {
		t.Errorf("%d definitions", n)
	}
}

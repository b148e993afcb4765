package delivery

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
)

// operator stores a workload that runs as the ServiceAccount op.
func (c *center) operator(group, resource, kind string, notes map[string]any) store.Key {
	k := key(group, resource, "op")
	m := meta("op")
	m["namespace"], m["annotations"], m["generation"] = "app", notes, 1
	pod := map[string]any{"serviceAccountName": "op", "containers": []any{map[string]any{"name": "c"}}}
	version := "v1"
	if group != "" {
		version = group + "/v1"
	}
	c.put(k, obj(version, kind, m, "spec", map[string]any{"replicas": 1, "template": map[string]any{"spec": pod}}))
	return k
}

func bindingKey(resource, namespace string) store.Key {
	return store.Key{Space: "shop", Group: "rbac.authorization.k8s.io", Resource: resource,
		Namespace: namespace, Name: "b"}
}

func (c *center) bind(k store.Key, kind, namespace, name string) {
	m := meta(k.Name)
	m["namespace"] = k.Namespace
	c.put(k, obj("rbac.authorization.k8s.io/v1", "RoleBinding", m, "subjects", []any{
		map[string]any{"kind": kind, "namespace": namespace, "name": name}}))
}

// account stores the ServiceAccount op with an annotation.
func (c *center) account(wish string, more ...any) {
	m := meta("op")
	m["namespace"], m["annotations"] = "app", map[string]any{v1alpha1.AnnotationPodAPI: wish}
	c.put(key("", "serviceaccounts", "op"), obj("v1", "ServiceAccount", m, more...))
}

// given is as which account a workload's pods are given the API of their space; "" for not at all.
func (c *center) given(target string, k store.Key) string {
	c.t.Helper()
	body, _, err := c.d.Feed(target).Body(c.t.Context(), k)
	var o map[string]any
	if err != nil || json.Unmarshal(body, &o) != nil {
		c.t.Fatal("no body", err)
	}
	account := fields.Clone(o, "metadata", "annotations", store.PodAPI)
	if strings.Contains(string(body), store.PodAPIConfigMap) != (account != "") {
		c.t.Errorf("pods and options do not agree: %s", body)
	}
	return account
}

// Pods get the API of their space when their account is bound to rights there, whatever comes
// first, and lose it with the last binding. Then they are sent again, to every target alike.
func TestPodsOfABoundAccountAreGivenTheAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		op, web := c.operator("apps", "deployments", "Deployment", nil), c.deployment("web", nil, "")
		c.eventually("both on a", func() bool { return c.has("a", op) && c.has("a", web) })
		before, _ := c.d.Feed("a").Get(web)
		if got := c.given("a", op); got != "" {
			t.Errorf("without rights: %q", got)
		}
		role, cluster := bindingKey("rolebindings", "app"), bindingKey("clusterrolebindings", "")
		c.bind(role, "ServiceAccount", "", "op")
		c.eventually("given", func() bool { return c.given("a", op) == "op" })
		c.bind(cluster, "ServiceAccount", "app", "op")
		c.put(role, nil)
		hash, _ := c.d.Feed("a").Get(op)
		if here, above := c.d.RunsAs("a", "shop", "app", "op"); !here || above {
			t.Errorf("a runs it: %v %v", here, above)
		}
		if here, _ := c.d.RunsAs("b", "shop", "app", "op"); here {
			t.Error("b does not run it")
		}
		if here, _ := c.d.RunsAs("a", "shop", "app", "default"); here {
			t.Error("the account default has no rights")
		}
		c.restart()
		if after, _ := c.d.Feed("a").Get(op); after.Hash != hash.Hash || c.given("a", op) != "op" {
			t.Error("a restart of the center changes what is sent")
		}
		c.put(cluster, nil)
		c.eventually("taken", func() bool { return c.given("a", op) == "" })
		if after, _ := c.d.Feed("a").Get(web); after.Hash != before.Hash {
			t.Error("pods without rights are sent again")
		}
		for _, group := range []string{"system:serviceaccounts", "system:authenticated"} {
			c.bind(role, "Group", "", group)
			if got := c.given("a", op); got != "" {
				t.Errorf("rights of everybody in %s: %q", group, got)
			}
		}
		c.bind(role, "Group", "", "system:serviceaccounts:app")
		c.eventually("given by the group of the namespace", func() bool { return c.given("a", op) == "op" })
	})
}

// The nearest word counts.
func TestWhatIsSaidOfPodsCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		op := c.operator("apps", "deployments", "Deployment", nil)
		c.bind(bindingKey("rolebindings", "app"), "ServiceAccount", "app", "op")
		c.eventually("given", func() bool { return c.has("a", op) && c.given("a", op) == "op" })
		used := func(want string) {
			t.Helper()
			c.eventually("it says "+want, func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return fields.Clone(c.objects[op], "metadata", "annotations", v1alpha1.AnnotationPodAPIUsed) == want
			})
		}
		used("Space: ServiceAccount op is bound to rights in this space")
		c.account("Target")
		c.eventually("the account says no", func() bool { return c.given("a", op) == "" })
		used("Target: ServiceAccount op says so by skerry.dev/pod-api")
		c.account("")
		c.eventually("the account says nothing", func() bool { return c.given("a", op) == "op" })
		c.account("", "automountServiceAccountToken", false)
		c.eventually("the account has no token", func() bool { return c.given("a", op) == "" })
		c.put(key("", "serviceaccounts", "op"), nil)
		c.put(bindingKey("rolebindings", "app"), nil)
		used("")
		c.eventually("nobody says anything", func() bool { return c.given("a", op) == "" })
		c.change(nsKey("app"), map[string]any{"annotations": map[string]any{v1alpha1.AnnotationPodAPI: "Space"}})
		c.eventually("the Namespace says yes", func() bool { return c.given("a", op) == "op" })
		used("Space: its Namespace says so by skerry.dev/pod-api")
		c.account("None")
		c.eventually("the account says none", func() bool { return c.given("a", op) == "" })
		used("None: ServiceAccount op says so by skerry.dev/pod-api")
		c.restart()
		if c.given("a", op) != "" {
			t.Error("a restart forgets what the account says")
		}
		told := map[string]bool{}
		c.reports.Lock()
		defer c.reports.Unlock()
		for _, e := range c.events {
			if e.Key == op && e.Reason == "PodAPI" {
				told[e.Message] = true
			}
		}
		for _, want := range []string{
			"the pods use the API of this space as ServiceAccount op: ServiceAccount op is bound to rights in this space",
			"the pods use the API of this space as ServiceAccount op: its Namespace says so by skerry.dev/pod-api",
			"the pods get no credentials for any API: ServiceAccount op says so by skerry.dev/pod-api",
		} {
			if !told[want] {
				t.Errorf("nobody is told that %s: %v", want, told)
			}
		}
	})
}

// A binding that came from a parent is on its way to sites: in a relay it gives no pod the API.
func TestABindingOfAParentGivesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		op := c.operator("apps", "deployments", "Deployment", nil)
		c.bind(bindingKey("rolebindings", "app"), "ServiceAccount", "app", "op")
		c.eventually("one of its own does", func() bool { return c.has("a", op) && c.given("a", op) == "op" })
		c.change(bindingKey("rolebindings", "app"),
			map[string]any{"annotations": map[string]any{v1alpha1.AnnotationOrigin: "shop/"}})
		c.eventually("one on its way does not", func() bool { return c.given("a", op) == "" })
		if here, above := c.d.RunsAs("a", "shop", "app", "op"); here || above {
			t.Errorf("a token is given: here %v, above %v", here, above)
		}
	})
}

// A Job cannot change: it keeps what was decided when it was made, and its user is told what it
// lacks.
func TestAJobKeepsWhatItWasGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		job := c.operator("batch", "jobs", "Job", nil)
		c.eventually("placed", func() bool { return c.has("a", job) })
		c.bind(bindingKey("rolebindings", "app"), "ServiceAccount", "app", "op")
		if got := c.d.PodAPI("shop", "app", placement.PodAccount{Name: "op"}); got != placement.SpaceAPI {
			t.Errorf("a new Job is given %v", got)
		}
		if got := c.given("a", job); got != "" {
			t.Errorf("a Job from before is given %q", got)
		}
		c.reports.Lock()
		last := c.events[len(c.events)-1]
		c.reports.Unlock()
		if last.Key != job || !last.Warning || !strings.Contains(last.Message, "make it anew") {
			t.Errorf("its user is told %+v", last)
		}
		c.operator("batch", "jobs", "Job", map[string]any{v1alpha1.AnnotationSpaceAPI: "op"})
		c.put(bindingKey("rolebindings", "app"), nil)
		if got := c.given("a", job); got != "op" {
			t.Errorf("a Job that was given it has %q", got)
		}
		c.restart()
		if got := c.given("a", job); got != "op" {
			t.Errorf("after a restart it has %q", got)
		}
	})
}

// What a parent has given stays as it is, and this center asks it for tokens.
func TestWhatAParentGaveIsTheParents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := shop(t)
		c.namespace("app", map[string]any{v1alpha1.LabelTarget: "a"})
		op := c.operator("apps", "deployments", "Deployment", map[string]any{
			v1alpha1.AnnotationSpaceAPI: "op", v1alpha1.AnnotationOrigin: "shop/"})
		c.bind(bindingKey("rolebindings", "app"), "ServiceAccount", "app", "op")
		c.eventually("placed", func() bool { return c.has("a", op) })
		if here, above := c.d.RunsAs("a", "shop", "app", "op"); here || !above {
			t.Errorf("a runs it: %v %v", here, above)
		}
		body, _, err := c.d.Feed("a").Body(t.Context(), op)
		if err != nil || strings.Contains(string(body), store.PodAPIConfigMap) {
			t.Errorf("what the parent gave is given again: %s, %v", body, err)
		}
	})
}

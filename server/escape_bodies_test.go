package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// body is what a request of a method carries, and its content type.
func (g *generator) body(method, what string) (string, string) {
	switch method {
	case http.MethodDelete:
		if g.chance(60) {
			return g.json(map[string]any{"apiVersion": "v1", "kind": "DeleteOptions"}), "application/json"
		}
		return g.json(
			map[string]any{
				"apiVersion":        "v1",
				"kind":              "DeleteOptions",
				"propagationPolicy": pick(g.r, "Foreground", "Background", "Orphan"),
				"preconditions": map[string]any{
					pick(g.r, "uid", "resourceVersion"): pick(g.r, g.other.uid, g.other.version),
				},
			},
		), "application/json"
	case http.MethodPatch:
		return g.patch(what)
	}
	o := g.object(what)
	if g.chance(15) {
		return g.encoded(o)
	}
	return g.json(o), pick(g.r, "application/json", "application/json", "application/json", "application/yaml")
}

func (g *generator) json(v any) string {
	b, err := json.Marshal(v)
	must(g.w.t, err)
	return string(b)
}

// metadata says of an object that it belongs to another space, in every way there is.
func (g *generator) metadata(what string) map[string]any {
	s, o := g.phase.space, g.other
	m := map[string]any{
		"name":        pick(g.r, "web", "new", "bot", "new-2"),
		"annotations": map[string]any{"canary": s.written},
	}
	for _, name := range []string{"web", "new", "bot", "default"} {
		if strings.HasSuffix(what, "/"+name) {
			m["name"] = name
		}
	}
	set := func(field string, v any) {
		if g.chance(5) {
			m[field] = v
		}
	}
	set("namespace", pick(g.r, "default", "app", o.name, o.name+"/default", "../"+o.name+"/default"))
	set("name", pick(g.r, "../"+o.name+"/default/web", o.name+"/default/web", "..", o.name, "*"))
	set("generateName", pick(g.r, "new-", "../"+o.name+"/"))
	set("selfLink", "/registry/configmaps/"+o.name+"/default/web")
	set("uid", o.uid)
	set("resourceVersion", pick(g.r, o.version, "0", s.version))
	set("clusterName", o.name)
	set("finalizers", pick(g.r, []any{"orphan"}, []any{"foregroundDeletion"}, []any{"example.com/" + o.name}))
	set("deletionTimestamp", "2020-01-01T00:00:00Z")
	set("labels", map[string]any{"skerry.dev/target": o.name, "skerry.dev/space": o.name})
	set(
		"ownerReferences",
		[]any{
			map[string]any{
				"apiVersion":         "v1",
				"kind":               pick(g.r, "ConfigMap", "Namespace", "Widget"),
				"name":               "web",
				"uid":                o.uid,
				"controller":         g.chance(50),
				"blockOwnerDeletion": g.chance(50),
			},
		},
	)
	if g.chance(10) {
		m["annotations"] = map[string]any{
			"canary":                   s.written,
			"skerry.dev/targets":       o.name,
			"skerry.dev/reported-from": o.name,
		}
	}
	return m
}

// object is one of the kind that the path asks for, or now and then of another one.
func (g *generator) object(what string) map[string]any {
	s, o := g.phase.space, g.other
	out := map[string]any{"metadata": g.metadata(what)}
	set := func(apiVersion, kind, field string, v any) map[string]any {
		out["apiVersion"], out["kind"], out[field] = apiVersion, kind, v
		return out
	}
	if g.chance(5) {
		what = pick(g.r, "/secrets", "/widgets", "/configmaps")
	}
	has := func(part string) bool { return strings.Contains(what, "/"+part) }
	switch {
	case has("token") && !has("tokenreviews"):
		return set(
			"authentication.k8s.io/v1",
			"TokenRequest",
			"spec",
			map[string]any{"audiences": []any{"https://center.test/clusters/" + o.name},
				"boundObjectRef": map[string]any{"apiVersion": "v1", "kind": "Secret", "name": "web", "uid": o.uid}},
		)
	case has("tokenreviews"):
		return set("authentication.k8s.io/v1", "TokenReview", "spec", map[string]any{"token": pick(g.r, o.more...)})
	case has("selfsubjectreviews"):
		return set("authentication.k8s.io/v1", "SelfSubjectReview", "status", map[string]any{})
	case has("subjectaccessreviews"):
		return set(
			"authorization.k8s.io/v1",
			"SubjectAccessReview",
			"spec",
			map[string]any{"user": "owner-of-" + o.name,
				"resourceAttributes": map[string]any{"verb": "get", "resource": "secrets", "namespace": "default"}},
		)
	case has("scale"):
		return set("autoscaling/v1", "Scale", "spec", map[string]any{"replicas": 2})
	case has("secrets"):
		return set("v1", "Secret", "stringData", map[string]any{"a": s.written})
	case has("services/"), has("services"):
		return set("v1", "Service", "spec", map[string]any{"type": "ExternalName", "externalName": s.written})
	case has("serviceaccounts"):
		return set("v1", "ServiceAccount", "secrets", []any{map[string]any{"name": "web", "namespace": o.name}})
	case has("namespaces") && !has("configmaps") && !has("events"):
		return set("v1", "Namespace", "spec", map[string]any{"finalizers": []any{"kubernetes"}})
	case has("events"):
		return set("v1", "Event", "message", s.written)
	case has("deployments"):
		d := deployment(s.written)
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
		must(g.w.t, err)
		return set("apps/v1", "Deployment", "spec", fields["spec"])
	case has("widgets"):
		return set("example.com/v1", "Widget", "spec", map[string]any{"v1": s.written})
	case has("placements"):
		return set(
			"skerry.dev/v1alpha1",
			"Placement",
			"spec",
			map[string]any{"objects": []any{map[string]any{}}, "spaceSelector": map[string]any{},
				"targets": map[string]any{"names": []any{"nowhere"}},
				"upsync":  []any{map[string]any{"resources": []any{"secrets"}, "names": []any{s.written}}}},
		)
	case has("upsyncs"):
		return set("skerry.dev/v1alpha1", "Upsync", "spec", map[string]any{
			"objects": []any{map[string]any{"resources": []any{"secrets"}, "names": []any{s.written}}}})
	case has("spaces"):
		return set("skerry.dev/v1alpha1", "Space", "spec", map[string]any{"deletionPolicy": "Delete"})
	case has("clusterrolebindings"), has("rolebindings"):
		out["subjects"] = []any{
			map[string]any{
				"kind":     "User",
				"name":     "owner-of-" + o.name + "-2",
				"apiGroup": "rbac.authorization.k8s.io",
			},
		}
		return set(
			"rbac.authorization.k8s.io/v1",
			"ClusterRoleBinding",
			"roleRef",
			map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
		)
	}
	return set("v1", "ConfigMap", "data", map[string]any{"a": s.written, "b": "/clusters/" + o.name})
}

// patch is one of the five kinds.
func (g *generator) patch(what string) (string, string) {
	s, o := g.phase.space, g.other
	switch g.r.IntN(5) {
	case 0:
		return g.json(
			[]any{
				map[string]any{
					"op": pick(g.r, "add", "replace", "test"),
					"path": pick(
						g.r,
						"/metadata/selfLink",
						"/metadata/name",
						"/metadata/namespace",
						"/metadata/uid",
						"/metadata/annotations",
					),
					"value": pick[any](
						g.r,
						"/registry/configmaps/"+o.name+"/default/web",
						o.name,
						o.uid,
						map[string]any{"canary": s.written},
					),
				},
			},
		), "application/json-patch+json"
	case 1:
		return g.json(map[string]any{"metadata": g.metadata(what)}), "application/merge-patch+json"
	case 2:
		return g.json(
			map[string]any{"metadata": g.metadata(what), "$patch": pick(g.r, "merge", "replace", "delete")},
		), "application/strategic-merge-patch+json"
	case 3:
		return g.json(g.object(what)), "application/apply-patch+yaml"
	}
	b, err := direct.Marshal(g.object(what))
	must(g.w.t, err)
	return string(b), "application/apply-patch+cbor"
}

// encoded is an object in protobuf, where its type is known, or in CBOR.
func (g *generator) encoded(o map[string]any) (string, string) {
	if g.chance(50) {
		b, err := direct.Marshal(o)
		must(g.w.t, err)
		return string(b), "application/cbor"
	}
	u := &unstructured.Unstructured{Object: o}
	typed, err := scheme.Scheme.New(u.GroupVersionKind())
	if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(o, typed) != nil {
		fake := &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Name: "new"},
			Data:       map[string]string{"a": g.phase.space.written},
		}
		fake.SetSelfLink(fmt.Sprintf("/registry/configmaps/%s/default/web", g.other.name))
		typed = fake
	}
	b, err := runtime.Encode(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), typed)
	must(g.w.t, err)
	return string(b), "application/vnd.kubernetes.protobuf"
}

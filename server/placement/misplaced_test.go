package placement

import (
	"strings"
	"testing"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

func TestMisplacedWordsAreToldOf(t *testing.T) {
	type m = map[string]any
	namespace := store.Key{Space: "shop", Resource: "namespaces", Name: "web"}
	deployment := store.Key{Space: "shop", Group: "apps", Resource: "deployments", Namespace: "web", Name: "hello"}
	stateful := store.Key{Space: "shop", Group: "apps", Resource: "statefulsets", Namespace: "web", Name: "db"}
	role := store.Key{Space: "shop", Group: "rbac.authorization.k8s.io", Resource: "roles", Namespace: "web", Name: "r"}
	definition := store.Key{Space: "shop", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions", Name: "x.y"}
	service := store.Key{Space: "shop", Resource: "services", Namespace: "web", Name: "hello"}
	for _, c := range []struct {
		name          string
		key           store.Key
		labels, notes m
		says          string
	}{
		{"the label", deployment, m{v1alpha1.LabelTarget: "paris"}, nil, ""},
		{"the wish as an annotation", deployment, nil, m{v1alpha1.LabelTarget: "paris"}, "kubectl label"},
		{"and on the Namespace", namespace, nil, m{v1alpha1.LabelTarget: "paris"}, "kubectl label"},
		{"where it is as a label", deployment, m{v1alpha1.AnnotationTargets: "paris"}, nil, "the label skerry.dev/target,"},
		{"an annotation as a label", service, m{v1alpha1.AnnotationReach: "Space"}, nil, "kubectl annotate"},
		{"volumes move", namespace, nil, m{v1alpha1.AnnotationVolumes: "Move"}, ""},
		{"volumes stay", namespace, nil, m{v1alpha1.AnnotationVolumes: "Stay"}, ""},
		{"another word", namespace, nil, m{v1alpha1.AnnotationVolumes: "move"}, `"move" means nothing; write Move`},
		{"several", namespace, nil, m{v1alpha1.AnnotationVolumes: "move", v1alpha1.AnnotationReach: "space",
			v1alpha1.LabelTarget: "paris"}, `kubectl label; annotation skerry.dev/volumes: "move" means nothing`},
		{"and the other one", namespace, nil, m{v1alpha1.AnnotationVolumes: "move", v1alpha1.AnnotationReach: "space"},
			`leave it out; annotation skerry.dev/reach: "space" means nothing`},
		{"replicas", stateful, nil, m{v1alpha1.AnnotationReplicas: "Duplicated"}, ""},
		{"replicas, wrong", stateful, nil, m{v1alpha1.AnnotationReplicas: "duplicated"}, "write Duplicated"},
		{"inert", role, m{v1alpha1.LabelInert: "yes"}, nil, `skerry.dev/inert: "yes" means nothing; write "true"`},
		{"not inert", role, m{v1alpha1.LabelInert: "false"}, nil, ""},
		{"shared", definition, nil, m{v1alpha1.AnnotationShared: "True"}, `write "true"`},
		{"evict", namespace, nil, m{v1alpha1.AnnotationEvict: "paris"}, ""},
		{"evict of an object", deployment, m{v1alpha1.LabelTarget: "paris"}, m{v1alpha1.AnnotationEvict: "rome"}, ""},
		{"evict of what decides nothing", deployment, nil, m{v1alpha1.AnnotationEvict: "rome"}, "on the Namespace or the"},
		{"volumes of a Deployment", deployment, nil, m{v1alpha1.AnnotationVolumes: "Move"}, "on the Namespace"},
		{"what a parent sent", deployment, nil, m{v1alpha1.AnnotationVolumes: "Move", v1alpha1.AnnotationOrigin: "shop/"}, ""},
		{"others' names", deployment, m{"app": "x"}, m{"example.com/target": "paris"}, ""},
	} {
		reason, says := NoEffect(c.key, m{"metadata": m{"labels": c.labels, "annotations": c.notes}})
		if (says == "") != (c.says == "") || !strings.Contains(says, c.says) || (reason == Misplaced) != (c.says != "") {
			t.Errorf("%s: %s %q", c.name, reason, says)
		}
	}
}

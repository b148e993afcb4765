package placement

import (
	"strings"
	"testing"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// replicated are the annotations of a Namespace whose volumes have a standby.
func replicated(how string) map[string]any {
	return map[string]any{v1alpha1.AnnotationVolumes: "Replicate", v1alpha1.AnnotationReplication: how}
}

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
		{"a standby", namespace, nil, replicated(`{"target":"oslo"}`), ""},
		{"a standby without the word", namespace, nil, m{v1alpha1.AnnotationReplication: `{"target":"oslo"}`},
			"means nothing without the annotation skerry.dev/volumes=Replicate"},
		{"a standby of a Deployment", deployment, nil, m{v1alpha1.AnnotationReplication: `{"target":"oslo"}`},
			"on the Namespace, or spec.move.volumeReplication"},
		{"a standby nowhere", namespace, nil, replicated(`{"every":"15m"}`), "it names no target"},
		{"no JSON", namespace, nil, replicated(`oslo`), "cannot be read"},
		{"an unknown field", namespace, nil, replicated(`{"target":"oslo","often":"1m"}`), `unknown field "often"`},
		{"no duration", namespace, nil, replicated(`{"target":"oslo","every":"15"}`), "missing unit"},
		{"too often", namespace, nil, replicated(`{"target":"oslo","every":"1s"}`), "every is 1s, and at least 10s"},
		{"an age", namespace, nil, replicated(`{"target":"oslo","maxAge":"26h"}`), ""},
		{"an age below the default", namespace, nil, replicated(`{"target":"oslo","maxAge":"5m"}`), "maxAge is 5m0s, and at least every, 15m0s"},
		{"consistency", namespace, nil, replicated(`{"target":"oslo","consistency":"Crash"}`), `is "Crash", and Fuzzy`},
		{"what a parent sent", deployment, nil, m{v1alpha1.AnnotationVolumes: "Move", v1alpha1.AnnotationOrigin: "shop/"}, ""},
		{"others' names", deployment, m{"app": "x"}, m{"example.com/target": "paris"}, ""},
	} {
		reason, says := NoEffect(c.key, m{"metadata": m{"labels": c.labels, "annotations": c.notes}})
		if (says == "") != (c.says == "") || !strings.Contains(says, c.says) || (reason == Misplaced) != (c.says != "") {
			t.Errorf("%s: %s %q", c.name, reason, says)
		}
	}
}

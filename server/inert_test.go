package server_test

import (
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// inertCases are the kinds that act in their space. Of each case the objects act together; every one
// of those that are named in labelled takes that away by the label alone. NS is the case's namespace.
var inertCases = []struct {
	name     string
	labelled []string // resources
	probe    func(t *testing.T, c *center, space, ns string) (acts bool)
	objects  string
}{
	{"clusterroles", []string{"clusterroles", "clusterrolebindings"}, mayList, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NS}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NS}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: NS}]`},
	{"roles", []string{"roles", "rolebindings"}, mayList, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: NS, namespace: NS}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: NS, namespace: NS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: NS}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: NS}]`},
	{"quota", []string{"resourcequotas"}, refusesConfigMaps, `
apiVersion: v1
kind: ResourceQuota
metadata: {name: NS, namespace: NS}
spec: {hard: {count/configmaps: "0"}}`},
	{"limits", []string{"limitranges"}, limitsPods, `
apiVersion: v1
kind: LimitRange
metadata: {name: NS, namespace: NS}
spec: {limits: [{type: Container, default: {memory: 77Mi}}]}`},
	{
		"validating",
		[]string{"validatingadmissionpolicies", "validatingadmissionpolicybindings"},
		refusesConfigMaps,
		`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NS}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  validations: [{expression: "object.metadata.namespace != 'NS'"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NS}
spec: {policyName: NS, validationActions: [Deny]}`,
	},
	{
		"mutating",
		[]string{"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"},
		changesConfigMaps,
		`
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NS}
spec:
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{data: {'changed': 'yes'}}"}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NS}
spec: {policyName: NS, matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}}}`,
	},
	{"hooks-validate", []string{"validatingwebhookconfigurations"}, refusesConfigMaps, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: NS}
webhooks:
- name: no.example.com
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}
  sideEffects: None
  admissionReviewVersions: [v1]`},
	{"hooks-mutate", []string{"mutatingwebhookconfigurations"}, refusesConfigMaps, `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: NS}
webhooks:
- name: no.example.com
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NS}}
  sideEffects: None
  admissionReviewVersions: [v1]`},
}

// inert: what carries skerry.dev/inert is stored and does not act in the space, and acts again
// without.
func inert(t *testing.T, c *center, space string) {
	for _, of := range inertCases {
		t.Run(of.name, func(t *testing.T) {
			ns := "inert-" + of.name
			_, err := clients(t, c.admin(space)).CoreV1().Namespaces().Create(t.Context(),
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{})
			must(t, err)
			names := map[string]schema.GroupVersionResource{}
			for _, text := range strings.Split(strings.ReplaceAll(of.objects, "NS", ns), "\n---\n") {
				o := &unstructured.Unstructured{}
				must(t, yaml.Unmarshal([]byte(text), &o.Object))
				gvr := resourceOf(o)
				names[gvr.Resource] = gvr
				_, err := dyn(
					t,
					c.admin(space),
				).Resource(gvr).
					Namespace(o.GetNamespace()).
					Create(t.Context(), o,
						metav1.CreateOptions{})
				must(t, err)
			}
			acts := func(what string, want bool) {
				t.Helper()
				within(
					t,
					time.Minute,
					what,
					func() bool { return of.probe(t, c, space, ns) == want },
				)
			}
			acts("it acts", true)
			for _, resource := range of.labelled {
				gvr := names[resource]
				at := ""
				if resource == "roles" || resource == "rolebindings" || gvr.Group == "" {
					at = ns
				}
				label := func(value string) {
					_, err := dyn(
						t,
						c.admin(space),
					).Resource(gvr).
						Namespace(at).
						Patch(t.Context(), ns, types.MergePatchType,
							[]byte(
								`{"metadata":{"labels":{"`+v1alpha1.LabelInert+`":`+value+`}}}`,
							), metav1.PatchOptions{})
					must(t, err)
				}
				label(`"true"`)
				acts("an inert one of "+resource+" does not act", false)
				label(`null`)
				acts("one of "+resource+" acts again", true)
			}
		})
	}
}

func resourceOf(o *unstructured.Unstructured) schema.GroupVersionResource {
	gvk := o.GroupVersionKind()
	name := strings.ToLower(gvk.Kind) + "s"
	if plural, ok := strings.CutSuffix(name, "ys"); ok {
		name = plural + "ies"
	}
	return gvk.GroupVersion().WithResource(name)
}

func mayList(t *testing.T, c *center, space, ns string) bool {
	r, err := clients(
		t,
		c.admin(space),
	).AuthorizationV1().
		SubjectAccessReviews().
		Create(t.Context(),
			&authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{User: ns,
					ResourceAttributes: &authorizationv1.ResourceAttributes{
						Verb:      "list",
						Resource:  "configmaps",
						Namespace: ns,
					}},
			},
			metav1.CreateOptions{})
	must(t, err)
	return r.Status.Allowed
}

var tried = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}

func refusesConfigMaps(t *testing.T, c *center, space, ns string) bool {
	_, err := clients(
		t,
		c.admin(space),
	).CoreV1().
		ConfigMaps(ns).
		Create(t.Context(), configMap("probe", nil), tried)
	return err != nil
}

func changesConfigMaps(t *testing.T, c *center, space, ns string) bool {
	cm, err := clients(
		t,
		c.admin(space),
	).CoreV1().
		ConfigMaps(ns).
		Create(t.Context(), configMap("probe", nil), tried)
	must(t, err)
	return cm.Data["changed"] == "yes"
}

func limitsPods(t *testing.T, c *center, space, ns string) bool {
	pod, err := clients(t, c.admin(space)).CoreV1().Pods(ns).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "probe"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}, tried)
	must(t, err)
	return pod.Spec.Containers[0].Resources.Limits.Memory().Equal(resource.MustParse("77Mi"))
}

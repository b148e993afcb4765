package server_test

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
)

func onConfigMaps(ops ...registrationv1.OperationType) registrationv1.RuleWithOperations {
	return registrationv1.RuleWithOperations{Operations: ops, Rule: registrationv1.Rule{
		APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}}
}

func constraints(ops ...registrationv1.OperationType) *registrationv1.MatchResources {
	return &registrationv1.MatchResources{
		ResourceRules: []registrationv1.NamedRuleWithOperations{{RuleWithOperations: onConfigMaps(ops...)}},
	}
}

func configMap(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
}

// policies: what a space's own policies refuse and change, with parameters, and nowhere else.
func policies(t *testing.T, c *center, space string) {
	ctx := t.Context()
	api := clients(t, c.admin(space))
	reg := api.AdmissionregistrationV1()
	_, err := api.CoreV1().ConfigMaps(
		"kube-system",
	).Create(
		ctx,
		configMap("limits", map[string]string{"max": "2"}),
		metav1.CreateOptions{},
	)
	must(t, err)
	_, err = reg.ValidatingAdmissionPolicies().Create(
		ctx,
		&registrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "few"},
			Spec: registrationv1.ValidatingAdmissionPolicySpec{MatchConstraints: constraints(registrationv1.Create),
				ParamKind: &registrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"},
				Validations: []registrationv1.Validation{
					{Expression: "!has(object.data) || size(object.data) <= int(params.data.max)",
						MessageExpression: "'at most ' + params.data.max + ' entries in ' + namespaceObject.metadata.name"},
					{
						Expression: "authorizer.group('').resource('configmaps').namespace('default').check('create').allowed()",
					},
				}}},
		metav1.CreateOptions{},
	)
	must(t, err)
	_, err = reg.ValidatingAdmissionPolicyBindings().Create(
		ctx,
		&registrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "few"},
			Spec: registrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName:        "few",
				ValidationActions: []registrationv1.ValidationAction{registrationv1.Deny},
				ParamRef: &registrationv1.ParamRef{
					Name:                    "limits",
					Namespace:               "kube-system",
					ParameterNotFoundAction: ptr(registrationv1.DenyAction),
				},
				MatchResources: &registrationv1.MatchResources{
					NamespaceSelector: &metav1.LabelSelector{
						MatchLabels: map[string]string{"kubernetes.io/metadata.name": "default"},
					},
				},
			}},
		metav1.CreateOptions{},
	)
	must(t, err)
	three := map[string]string{"a": "1", "b": "2", "c": "3"}
	attempt := func(ns string, data map[string]string) error {
		_, err := api.CoreV1().ConfigMaps(
			ns,
		).Create(
			ctx,
			configMap("try", data),
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}},
		)
		return err
	}
	within(t, time.Minute, "a policy takes effect", func() bool { return attempt("default", three) != nil })
	if err := attempt("default", three); !apierrors.IsInvalid(err) ||
		!strings.Contains(
			err.Error(),
			"ValidatingAdmissionPolicy 'few' with binding 'few' denied request: at most 2 entries in default",
		) {
		t.Errorf("three entries: %v", err)
	}
	check(t, attempt("default", map[string]string{"a": "1"}))
	check(t, attempt("kube-system", three))
	_, err = api.CoreV1().ConfigMaps(
		"kube-system",
	).Update(
		ctx,
		configMap("limits", map[string]string{"max": "3"}),
		metav1.UpdateOptions{},
	)
	must(t, err)
	within(t, time.Minute, "another parameter takes effect", func() bool { return attempt("default", three) == nil })
	_, err = clients(
		t,
		c.admin("furnished"),
	).CoreV1().ConfigMaps(
		"default",
	).Create(
		ctx,
		configMap("try", map[string]string{"a": "", "b": "", "c": "", "d": ""}),
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}},
	)
	check(t, err) // another space
	own := clients(t, c.api.Loopback(space)).CoreV1().ConfigMaps("default")
	_, err = own.Create(
		ctx,
		configMap("by-the-center", map[string]string{"a": "", "b": "", "c": "", "d": ""}),
		metav1.CreateOptions{},
	)
	check(t, err)

	// Mutating: a merge by schema and a JSON patch.
	for name, m := range map[string]registrationv1.Mutation{
		"merge": {PatchType: registrationv1.PatchTypeApplyConfiguration,
			ApplyConfiguration: &registrationv1.ApplyConfiguration{
				Expression: `Object{metadata: Object.metadata{labels: Object.metadata.labels{merged: "yes"}}}`}},
		"patch": {PatchType: registrationv1.PatchTypeJSONPatch, JSONPatch: &registrationv1.JSONPatch{
			Expression: `[JSONPatch{op: "add", path: "/data", value: {"patched": "yes"}}]`}},
	} {
		never := registrationv1.NeverReinvocationPolicy
		_, err = reg.MutatingAdmissionPolicies().Create(
			ctx,
			&registrationv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: registrationv1.MutatingAdmissionPolicySpec{
					MatchConstraints:   constraints(registrationv1.Create),
					ReinvocationPolicy: never,
					Mutations:          []registrationv1.Mutation{m},
				}},
			metav1.CreateOptions{},
		)
		must(t, err)
		_, err = reg.MutatingAdmissionPolicyBindings().Create(
			ctx,
			&registrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
				Spec: registrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name}},
			metav1.CreateOptions{},
		)
		must(t, err)
	}
	var got *corev1.ConfigMap
	within(t, time.Minute, "mutating policies take effect", func() bool {
		got, err = api.CoreV1().ConfigMaps(
			"default",
		).Create(
			ctx,
			configMap("try", nil),
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}},
		)
		return err == nil && got.Labels["merged"] != "" && got.Data["patched"] != ""
	})
	// What is wrong with a policy refuses what it is about, and it can be deleted.
	must(t, reg.ValidatingAdmissionPolicies().Delete(ctx, "few", metav1.DeleteOptions{}))
	within(t, time.Minute, "a deleted policy has no effect", func() bool {
		return attempt("default", map[string]string{"a": "", "b": "", "c": "", "d": ""}) == nil
	})
}

func ptr[T any](v T) *T { return &v }

// hooks: webhooks by URL are called in their space alone.
func hooks(t *testing.T, c *center, space string) {
	ctx := t.Context()
	var calls atomic.Int64
	var dry atomic.Int64
	answers := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var review admissionv1.AdmissionReview
		if err := json.Unmarshal(body, &review); err != nil {
			t.Error(err)
		}
		calls.Add(1)
		if review.Request.DryRun != nil && *review.Request.DryRun {
			dry.Add(1)
		}
		resp := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "https://127.0.0.2:6443/", http.StatusTemporaryRedirect)
			return
		case "/mutate":
			resp.PatchType = ptr(admissionv1.PatchTypeJSONPatch)
			resp.Patch = []byte(`[{"op":"add","path":"/data","value":{"from":"hook"}}]`)
		case "/validate":
			resp.Allowed = !strings.HasPrefix(review.Request.Name, "bad")
			resp.Result = &metav1.Status{Message: "it is bad"}
		}
		review.Response, review.Request = resp, nil
		json.NewEncoder(w).Encode(review)
	}))
	defer answers.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: answers.Certificate().Raw})
	at := func(path string) registrationv1.WebhookClientConfig {
		return registrationv1.WebhookClientConfig{URL: ptr(answers.URL + path), CABundle: ca}
	}
	api := clients(t, c.admin(space))
	reg := api.AdmissionregistrationV1()
	none := ptr(registrationv1.SideEffectClassNone)
	atCloud := registrationv1.WebhookClientConfig{URL: ptr("https://169.254.169.254/latest"), CABundle: ca}
	passing := map[string]string{v1alpha1.AnnotationOrigin: space + "/"}
	_, err := reg.MutatingWebhookConfigurations().Create(
		ctx,
		&registrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "x", Annotations: passing},
			Webhooks: []registrationv1.MutatingWebhook{
				{
					Name:                    "a.example.com",
					ClientConfig:            atCloud,
					SideEffects:             none,
					AdmissionReviewVersions: []string{"v1"},
				},
			}},
		metav1.CreateOptions{},
	)
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "webhooks[0].clientConfig.url") ||
		!strings.Contains(err.Error(), "--webhook-allow-cidr") {
		t.Errorf("a webhook at a cloud's metadata: %v", err)
	}
	// What a relay's parent sends on its way to sites is stored whatever it calls, and asked about
	// nothing here: all that follows would be refused.
	_, err = clients(t, c.api.Loopback(space)).AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(
		ctx,
		&registrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "on-its-way", Annotations: passing},
			Webhooks: []registrationv1.ValidatingWebhook{{
				Name: "a.example.com", ClientConfig: atCloud, SideEffects: none, AdmissionReviewVersions: []string{"v1"},
				Rules: []registrationv1.RuleWithOperations{onConfigMaps(registrationv1.Create)},
			}},
		},
		metav1.CreateOptions{},
	)
	must(t, err)
	_, err = reg.MutatingWebhookConfigurations().Create(
		ctx,
		&registrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "m"},
			Webhooks: []registrationv1.MutatingWebhook{
				{
					Name:                    "m.example.com",
					ClientConfig:            at("/mutate"),
					SideEffects:             none,
					AdmissionReviewVersions: []string{"v1"},
					Rules:                   []registrationv1.RuleWithOperations{onConfigMaps(registrationv1.Create)},
					MatchConditions: []registrationv1.MatchCondition{
						{Name: "named", Expression: "object.metadata.name != 'plain'"},
					},
				},
			}},
		metav1.CreateOptions{},
	)
	must(t, err)
	_, err = reg.ValidatingWebhookConfigurations().Create(
		ctx,
		&registrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "v"},
			Webhooks: []registrationv1.ValidatingWebhook{
				{
					Name:                    "v.example.com",
					ClientConfig:            at("/validate"),
					SideEffects:             none,
					AdmissionReviewVersions: []string{"v1"},
					Rules:                   []registrationv1.RuleWithOperations{onConfigMaps(registrationv1.Create)},
				},
			}},
		metav1.CreateOptions{},
	)
	must(t, err)
	maps := api.CoreV1().ConfigMaps("default")
	create := func(name string, o metav1.CreateOptions) (*corev1.ConfigMap, error) {
		return maps.Create(ctx, configMap(name, nil), o)
	}
	dryRun := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	within(t, time.Minute, "webhooks take effect", func() bool {
		cm, err := create("good", dryRun)
		_, refused := create("bad", dryRun)
		return err == nil && cm.Data["from"] == "hook" && refused != nil
	})
	_, err = create("bad", dryRun)
	if err == nil || !strings.Contains(err.Error(), `admission webhook "v.example.com" denied the request: it is bad`) {
		t.Errorf("refused with %v", err)
	}
	if dry.Load() != calls.Load() {
		t.Errorf("%d of %d calls knew that they were for a dry run", dry.Load(), calls.Load())
	}
	cm, err := create("plain", dryRun)
	if must(t, err); cm.Data["from"] != "" {
		t.Error("a webhook is called that its condition leaves out")
	}
	before := calls.Load()
	for _, config := range []*corev1.ConfigMap{configMap("good", nil)} {
		_, err = clients(t, c.admin("furnished")).CoreV1().ConfigMaps("default").Create(ctx, config, dryRun)
		check(t, err)
		_, err = clients(
			t,
			c.api.Loopback(space),
		).CoreV1().ConfigMaps(
			"default",
		).Create(
			ctx,
			config,
			metav1.CreateOptions{},
		)
		check(t, err)
	}
	if calls.Load() != before {
		t.Errorf("another space and the center made %d calls", calls.Load()-before)
	}
	// A webhook does not lead the center elsewhere.
	_, err = reg.ValidatingWebhookConfigurations().Create(
		ctx,
		&registrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "away"},
			Webhooks: []registrationv1.ValidatingWebhook{
				{
					Name:                    "away.example.com",
					ClientConfig:            at("/away"),
					SideEffects:             none,
					AdmissionReviewVersions: []string{"v1"},
					Rules:                   []registrationv1.RuleWithOperations{onConfigMaps(registrationv1.Create)},
				},
			}},
		metav1.CreateOptions{},
	)
	must(t, err)
	within(
		t,
		time.Minute,
		"a webhook that leads elsewhere takes effect",
		func() bool { _, err = create("led", dryRun); return err != nil },
	)
	if !strings.Contains(err.Error(), "the center has no answer from ") ||
		!strings.Contains(err.Error(), "--webhook-allow-cidr") {
		t.Errorf("led elsewhere: %v", err)
	}
	must(t, reg.ValidatingWebhookConfigurations().Delete(ctx, "away", metav1.DeleteOptions{}))
	within(t, time.Minute, "it is gone", func() bool { _, err := create("led", dryRun); return err == nil })
	// A webhook that is gone refuses, or not, as its failurePolicy says.
	answers.Close()
	if _, err := create("other", dryRun); !apierrors.IsInternalError(err) ||
		!strings.Contains(err.Error(), "failed calling webhook") {
		t.Errorf("nobody answers: %v", err)
	}
	for _, patch := range []string{"validating", "mutating"} {
		body := []byte(`[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}]`)
		if patch == "validating" {
			_, err = reg.ValidatingWebhookConfigurations().Patch(
				ctx,
				"v",
				"application/json-patch+json",
				body,
				metav1.PatchOptions{},
			)
		} else {
			_, err = reg.MutatingWebhookConfigurations().Patch(ctx, "m", "application/json-patch+json", body,
				metav1.PatchOptions{})
		}
		must(t, err)
	}
	within(t, time.Minute, "failurePolicy Ignore takes effect", func() bool {
		_, err := create("other", dryRun)
		return err == nil
	})
}

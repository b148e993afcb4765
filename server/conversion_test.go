package server_test

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/apiserver"
	"skerry.dev/skerry/server/apiserver/outbound"
)

// loopbackAllowed lets webhooks be where tests serve them, and nowhere else beside the public.
func loopbackAllowed() *outbound.Rules {
	return outbound.New([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, nil)
}

// converter is a conversion webhook: what v1 calls text is called words in v2, and gets a
// signature.
func converter(t *testing.T, signature string, calls *atomic.Int64) *httptest.Server {
	s := httptest.NewTLSServer(convertAs(t, signature, calls))
	t.Cleanup(s.Close)
	return s
}

func convertAs(t *testing.T, signature string, calls *atomic.Int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		if r.Header.Get("Authorization") != "" || len(r.TLS.PeerCertificates) > 0 {
			t.Error("the center shows credentials to a webhook")
		}
		var review apiextensionsv1.ConversionReview
		check(t, json.NewDecoder(r.Body).Decode(&review))
		resp := &apiextensionsv1.ConversionResponse{
			UID:    review.Request.UID,
			Result: metav1.Status{Status: metav1.StatusSuccess},
		}
		for _, raw := range review.Request.Objects {
			var u unstructured.Unstructured
			check(t, u.UnmarshalJSON(raw.Raw))
			spec, _ := u.Object["spec"].(map[string]any)
			from, to := "text", "words"
			if strings.HasSuffix(review.Request.DesiredAPIVersion, "/v1") {
				from, to = to, from
			}
			if text, ok := spec[from].(string); ok {
				delete(spec, from)
				spec[to], spec["by"] = text, signature
			}
			u.SetAPIVersion(review.Request.DesiredAPIVersion)
			b, err := u.MarshalJSON()
			check(t, err)
			resp.ConvertedObjects = append(resp.ConvertedObjects, runtime.RawExtension{Raw: b})
		}
		review.Request, review.Response = nil, resp
		check(t, json.NewEncoder(w).Encode(review))
	})
}

// letters is a definition of two versions whose conversion is asked for at a client configuration.
func letters(client map[string]any) *unstructured.Unstructured {
	version := func(name, field string, stored bool) map[string]any {
		props := map[string]any{"spec": map[string]any{"type": "object", "properties": map[string]any{
			field: map[string]any{"type": "string"}, "by": map[string]any{"type": "string"}}}}
		return map[string]any{"name": name, "served": true, "storage": stored,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": props}}}
	}
	def := object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "letters.example.com")
	def.Object["spec"] = map[string]any{"group": "example.com", "scope": "Namespaced",
		"names": map[string]any{
			"kind":     "Letter",
			"listKind": "LetterList",
			"plural":   "letters",
			"singular": "letter",
		},
		"versions": []any{version("v1", "text", true), version("v2", "words", false)},
		"conversion": map[string]any{
			"strategy": "Webhook",
			"webhook": map[string]any{"conversionReviewVersions": []any{"v1"},
				"clientConfig": client},
		}}
	return def
}

// TestConversionWebhook has two spaces with one definition of two versions, each converted by a
// webhook of its own.
func TestConversionWebhook(t *testing.T) {
	c := start(
		t,
		t.TempDir(),
		newAuthority(t),
		nil,
		func(config *apiserver.Config) { config.Outbound = loopbackAllowed() },
	)
	ctx := t.Context()
	v1 := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "letters"}
	v2 := v1.GroupResource().WithVersion("v2")
	var calls [2]atomic.Int64
	for i, space := range []string{"team", "team-b"} {
		c.createSpace(space, "Retain")
		d := dyn(t, c.admin(space))
		for _, client := range []map[string]any{
			{"url": "https://169.254.169.254/convert"},
			{"url": "https://[::1]:6443/clusters/team-b/api/v1/namespaces"},
		} {
			if _, err := d.Resource(crdsGVR).Create(ctx, letters(client), metav1.CreateOptions{}); !apierrors.IsForbidden(
				err,
			) ||
				!strings.Contains(err.Error(), "spec.conversion.webhook.clientConfig") {
				t.Errorf("%v: %v", client, err)
			}
		}
		hook := converter(t, space, &calls[i])
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})
		_, err := d.Resource(
			crdsGVR,
		).Create(
			ctx,
			letters(map[string]any{"url": hook.URL, "caBundle": ca}),
			metav1.CreateOptions{},
		)
		must(t, err)
		letter := object("example.com/v1", "Letter", "", "a")
		letter.Object["spec"] = map[string]any{"text": "hello from " + space}
		within(t, time.Minute, "letters in "+space, func() bool {
			_, err := d.Resource(v1).Namespace("default").Create(ctx, letter.DeepCopy(), metav1.CreateOptions{})
			return err == nil
		})
	}
	for _, space := range []string{"team", "team-b"} {
		api := dyn(t, c.admin(space)).Resource(v2).Namespace("default")
		got, err := api.Get(ctx, "a", metav1.GetOptions{})
		must(t, err)
		if spec := got.Object["spec"].(map[string]any); spec["words"] != "hello from "+space || spec["by"] != space ||
			spec["text"] != nil {
			t.Errorf("the letter of %s as v2: %v", space, spec)
		}
		patch := `{"apiVersion":"example.com/v2","kind":"Letter","metadata":{"name":"a"},"spec":{"words":"applied as v2"}}`
		force := true
		_, err = api.Patch(
			ctx,
			"a",
			types.ApplyPatchType,
			[]byte(patch),
			metav1.PatchOptions{FieldManager: "test", Force: &force},
		)
		must(t, err)
		list, err := dyn(t, c.admin(space)).Resource(v1).List(ctx, metav1.ListOptions{})
		must(t, err)
		if text := list.Items[0].Object["spec"].(map[string]any)["text"]; len(list.Items) != 1 ||
			text != "applied as v2" {
			t.Errorf("the letters of %s as v1: %v", space, list.Items)
		}
	}
	if calls[0].Load() == 0 || calls[1].Load() == 0 {
		t.Error("a webhook was not called")
	}
}

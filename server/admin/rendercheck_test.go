package admin

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// answering is a rendering whose center answers a dry run with a status of these.
func answering(t *testing.T, code int, status string) (*rendering, *string) {
	asked := new(string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, err := body.ReadFrom(r.Body)
		if err != nil {
			t.Error(err)
		}
		*asked = r.Method + " " + r.URL.String() + " " + body.String()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		if _, err := w.Write([]byte(status)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	client, err := dynamic.NewForConfig(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	maps := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"})
	return &rendering{api: maps.Namespace("web")}, asked
}

func failure(reason metav1.StatusReason, message string) string {
	return `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"` + string(reason) +
		`","message":"` + message + `"}`
}

func TestTheCenterChecksAVariant(t *testing.T) {
	body := []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a",` +
		`"annotations":{"mine":"1","skerry.dev/origin":"shop/"}}}`)
	for _, c := range []struct {
		code         int
		status, want string // of the error; "" for none
		warned       string
	}{
		{201, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`, "", ""},
		{409, failure(metav1.StatusReasonAlreadyExists, "it exists"), "", ""},
		{422, failure(metav1.StatusReasonInvalid, "spec.replicas: Invalid value"),
			"paris would refuse this variant: spec.replicas: Invalid value; mend the Customizer", ""},
		{400, failure(metav1.StatusReasonBadRequest, "unknown field spec.imag"), "unknown field spec.imag", ""},
		{403, failure(metav1.StatusReasonForbidden, "may not create"), "",
			"Warning: the center did not check it: may not create"},
	} {
		r, asked := answering(t, c.code, c.status)
		var told bytes.Buffer
		err := r.refused(context.Background(), RenderOptions{Err: &told}, "paris", body)
		right := err != nil && strings.Contains(err.Error(), c.want) && errors.Is(err, ErrProblems)
		if c.want == "" && err != nil || c.want != "" && !right {
			t.Errorf("%d: %v, want %q", c.code, err, c.want)
		}
		if !strings.Contains(told.String(), c.warned) || (c.warned == "") != (told.Len() == 0) {
			t.Errorf("%d: warned %q, want %q", c.code, told.String(), c.warned)
		}
		if !strings.HasPrefix(*asked, "POST /api/v1/namespaces/web/configmaps?dryRun=All&fieldValidation=Strict ") ||
			strings.Contains(*asked, "origin") || !strings.Contains(*asked, `"mine":"1"`) {
			t.Errorf("the center is asked %s", *asked)
		}
	}
	if targetsOf(&unstructured.Unstructured{Object: map[string]any{}}) != nil {
		t.Error("an object that names no target has some")
	}
}

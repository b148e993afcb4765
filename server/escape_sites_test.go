package server_test

import (
	"context"
	"io"
	"net/http"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/exchange"
)

// spies are the sites of a world. They judge what they are asked: it must be of the space of the
// phase, of what was born for that space, and by somebody who has rights there.
type spies struct{ w *world }

// Do implements pods.Sites. Every answer is a refusal, so that nobody waits for a report.
func (s spies) Do(_ context.Context, target string, r *exchange.Request) (*http.Response, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	p := s.w.phase.Load()
	switch {
	case p == nil:
	case r.Space != p.space.name, r.UID != "" && r.UID != p.space.fixed, target != "paris":
		s.w.escape("%s in %s: site %s was asked %s of %s %s/%s of space %s, UID %s",
			p.who.name, p.space.name, target, r.Verb, r.Resource, r.Namespace, r.Pod, r.Space, r.UID)
	case !p.who.may(p.space.name):
		s.w.escape("%s without rights in %s: a site was asked %s of %s/%s",
			p.who.name, p.space.name, r.Verb, r.Namespace, r.Pod)
	default:
		s.w.asked.Add(1)
	}
	return nil, &exchange.Fault{Code: http.StatusConflict, Reason: "Conflict", Message: "a spy was asked"}
}

// Serve implements pods.Sites.
func (s spies) Serve(w http.ResponseWriter, req *http.Request, target string, r *exchange.Request,
	begun func(string, int)) {
	_, err := s.Do(req.Context(), target, r)
	begun(target, http.StatusConflict)
	w.WriteHeader(http.StatusConflict)
	_, _ = io.WriteString(w, err.Error())
}

// bear makes what was born at a site for a space: a Pod, a Job and a claim, whose UID there is the
// space's canary, and a Secret that an Upsync brought.
func (w *world) bear(s *prey) {
	if s.name == "root" {
		return
	}
	meta := metav1.ObjectMeta{Name: "web", Labels: map[string]string{"of": s.fixed}, Annotations: map[string]string{
		"canary": s.fixed, v1alpha1.AnnotationReportedFrom: "paris", exchange.ReportedUID: s.fixed,
	}}
	api, ctx, o := clients(w.t, w.c.api.Loopback(s.name)), w.t.Context(), metav1.CreateOptions{}
	spec := corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{Name: "c", Image: "i"}}}
	_, err := api.CoreV1().Pods("default").Create(ctx, &corev1.Pod{ObjectMeta: meta, Spec: spec}, o)
	_, err2 := api.BatchV1().Jobs("default").Create(ctx, &batchv1.Job{ObjectMeta: meta,
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: spec}}}, o)
	_, err3 := api.CoreV1().PersistentVolumeClaims("default").Create(ctx, &corev1.PersistentVolumeClaim{ObjectMeta: meta,
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceStorage: resource.MustParse("1Mi")}},
		}}, o)
	came := meta.DeepCopy()
	came.Annotations[v1alpha1.AnnotationUpsync] = "apps"
	_, err4 := api.CoreV1().Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: *came,
		StringData: map[string]string{"canary": s.fixed}}, o)
	for _, err := range []error{err, err2, err3, err4} {
		if err != nil && !apierrors.IsAlreadyExists(err) {
			w.t.Fatal(err)
		}
	}
}

// ofBorn is a write of what was born at a site, or a look into it: by its own name, by that in
// another space, and by marks that say it is another's.
func (g *generator) ofBorn() (method, what, body, contentType string) {
	what = pick(g.r, "/api/v1/namespaces/default/pods/", "/api/v1/namespaces/default/pods/",
		"/api/v1/namespaces/default/persistentvolumeclaims/", "/apis/batch/v1/namespaces/default/jobs/",
		"/api/v1/namespaces/default/secrets/")
	what += g.name("web", "web", "web", "web", g.other.fixed)
	o := g.other
	notes := `{"` + v1alpha1.AnnotationReportedFrom + `":"` + o.name + `","` + exchange.ReportedUID + `":"` +
		o.fixed + `","` +
		exchange.ReportedAs + `":"` + o.fixed + `"}`
	patch := pick(g.r, `{"metadata":{"labels":{"role":"primary"}}}`, `{"metadata":{"annotations":{"a":"b"}}}`,
		`{"metadata":{"labels":{"role":"primary"},"annotations":`+notes+`}}`, `{"metadata":{"annotations":`+notes+`}}`,
		`{"metadata":{"uid":"`+o.uid+`","labels":{"a":"b"}}}`, `{"metadata":{"namespace":"`+o.name+`","labels":{"a":"b"}}}`)
	switch pick(g.r, "patch", "patch", "status", "delete", "delete", "evict", "log", "proxy", "collection") {
	case "patch":
		return http.MethodPatch, what, patch, "application/merge-patch+json"
	case "status":
		return http.MethodPatch, what + "/status", `{"status":{"conditions":[{"type":"gate","status":"True"}]}}`,
			"application/merge-patch+json"
	case "delete":
		return http.MethodDelete, what, pick(g.r, "",
				`{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"`+o.uid+`"}}`),
			"application/json"
	case "evict":
		return http.MethodPost, what + "/eviction", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"` +
			pick(g.r, "web", o.fixed) + `","namespace":"` + pick(g.r, "default", o.name) + `"}}`, "application/json"
	case "log":
		return http.MethodGet, what + "/log", "", ""
	case "proxy":
		return http.MethodPost, what + ":80/proxy/" + pick(g.r, "metrics", "../../../"+o.name, "%2e%2e/x"), "", ""
	}
	return http.MethodDelete, what[:strings.LastIndexByte(what, '/')], "", ""
}

// bothSites are the sites of the world: the Pods of webhooks are at oslo, all others at paris, where
// proxies lead to them. Views may be asked of any, and are refused.
type bothSites struct {
	hooks *hookJudge
	spies
}

// Do implements pods.Sites.
func (s bothSites) Do(ctx context.Context, target string, r *exchange.Request) (*http.Response, error) {
	if r.Verb == exchange.Connect && target != "paris" || r.Verb == exchange.View || target == "oslo" && r.UID == "u-"+r.Space {
		return s.hooks.Do(ctx, target, r)
	}
	return s.spies.Do(ctx, target, r)
}

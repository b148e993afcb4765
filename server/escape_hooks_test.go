package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/authn"
	"skerry.dev/skerry/tunnel/exchange"
)

// hookJudge is a site at which every space has a Pod of one name behind a Service of one name, which
// serves a webhook for all writes. It judges what the center asks which Pod.
type hookJudge struct {
	w       *world
	servers map[string]*httptest.Server // by space
	calls   atomic.Int64
}

func (j *hookJudge) Do(_ context.Context, target string, r *exchange.Request) (*http.Response, error) {
	if r.Verb != exchange.Connect {
		if p := j.foreign(r.Space); p != nil {
			j.w.escape("%s reached %s at %s for space %s", p.who.name, r.Verb, target, r.Space)
		}
		return nil, &exchange.Fault{Code: 403, Message: "not for users"}
	}
	if r.UID != "u-"+r.Space || target != "oslo" {
		j.w.escape("pod %s of space %s was reached at %s", r.UID, r.Space, target)
	}
	conn, err := net.Dial("tcp", j.servers[r.Space].Listener.Addr().String())
	if err != nil {
		return nil, err
	}
	judged := &judgedConn{Conn: conn, judge: j, space: r.Space}
	return &http.Response{StatusCode: http.StatusSwitchingProtocols, Body: judged, Header: http.Header{}}, nil
}

// foreign returns the phase of now if whoever makes its requests may not reach a Pod of a space.
func (j *hookJudge) foreign(space string) *phase {
	if p := j.w.phase.Load(); p != nil && (space != p.space.name || !p.who.may(space)) {
		return p
	}
	return nil
}

// judgedConn is a connection to the Pod of a space. The center makes one, too, for what it writes
// itself, in the time of any phase. What a client of the webhook sends is judged by the Pod, who
// knows who writes; all else is judged here.
type judgedConn struct {
	net.Conn
	judge *hookJudge
	space string
	sent  atomic.Bool
}

// Write implements net.Conn.
func (c *judgedConn) Write(b []byte) (int, error) {
	const handshake = 0x16 // begins what a client of TLS sends
	if p := c.judge.foreign(c.space); !c.sent.Swap(true) && len(b) > 0 && b[0] != handshake && p != nil {
		c.judge.w.escape("%s sent %.60q to the pod of space %s", p.who.name, b, c.space)
	}
	return c.Conn.Write(b)
}

func (*hookJudge) Serve(w http.ResponseWriter, _ *http.Request, _ string, _ *exchange.Request, _ func(string, int)) {
	w.WriteHeader(http.StatusForbidden)
}

// serve answers for the Pod of a space, which may see nothing of another one.
func (j *hookJudge) serve(s *prey) {
	j.servers[s.name] = j.w.c.ca.serve(j.w.t, "hook.default.svc", http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			var review admissionv1.AdmissionReview
			if err := json.Unmarshal(body, &review); err != nil || review.Request == nil {
				if p := j.foreign(s.name); p != nil {
					j.w.escape("%s asked the pod of space %s: %s %s", p.who.name, s.name, r.Method, r.URL)
				}
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			// What the center writes itself is nobody's in particular. Everybody may ask who he is.
			if p, r := j.w.phase.Load(), review.Request; p != nil && r.UserInfo.Username != authn.CenterUser {
				j.calls.Add(1)
				if p.space != s || !p.who.may(s.name) && !strings.HasPrefix(r.Resource.Resource, "selfsubject") {
					j.w.escape("%s of %s %s/%s by %s (%s) in space %s reached the webhook of space %s",
						r.Operation, r.Resource.Resource, r.Namespace, r.Name, r.UserInfo.Username, p.who.name, p.space.name, s.name)
				}
			}
			for other := range j.w.whose(review.Request.OldObject.Raw, "") {
				if other != s {
					j.w.escape("the webhook of space %s has seen what belongs to space %s", s.name, other.name)
				}
			}
			review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
			review.Request = nil
			_ = json.NewEncoder(w).Encode(review)
		}))
}

// restore makes the webhook of a space again, and what is behind it.
func (j *hookJudge) restore(s *prey) {
	if j.servers[s.name] == nil {
		j.serve(s)
	}
	ctx, api := j.w.t.Context(), clients(j.w.t, j.w.c.api.Loopback(s.name))
	hook := metav1.ObjectMeta{Name: "hook", Labels: map[string]string{"app": "hook"}}
	placed, mirrored := hook, hook
	placed.Annotations = map[string]string{v1alpha1.AnnotationTargets: "oslo"}
	mirrored.Annotations = map[string]string{
		v1alpha1.AnnotationReportedFrom: "oslo", exchange.ReportedUID: "u-" + s.name,
	}
	_, err := api.CoreV1().Services("default").Create(ctx, &corev1.Service{ObjectMeta: placed,
		Spec: corev1.ServiceSpec{Selector: hook.Labels, Ports: []corev1.ServicePort{{Port: 443}}}}, metav1.CreateOptions{})
	j.made(err)
	_, err = api.CoreV1().Pods("default").Create(ctx, &corev1.Pod{ObjectMeta: mirrored,
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue},
		}}}, metav1.CreateOptions{})
	j.made(err)
	none, ignore := registrationv1.SideEffectClassNone, registrationv1.Ignore
	all := []string{"*"}
	_, err = api.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(
		ctx, &registrationv1.ValidatingWebhookConfiguration{ObjectMeta: hook,
			Webhooks: []registrationv1.ValidatingWebhook{{
				Name: "hook.example.com", ClientConfig: hookAt("/", j.w.c.ca.bundle()), SideEffects: &none,
				AdmissionReviewVersions: []string{"v1"}, FailurePolicy: &ignore,
				Rules: []registrationv1.RuleWithOperations{{
					Operations: []registrationv1.OperationType{registrationv1.OperationAll},
					Rule:       registrationv1.Rule{APIGroups: all, APIVersions: all, Resources: all},
				}},
			}}}, metav1.CreateOptions{})
	j.made(err)
}

func (j *hookJudge) made(err error) {
	if err != nil && !apierrors.IsAlreadyExists(err) {
		j.w.t.Fatal(err)
	}
}

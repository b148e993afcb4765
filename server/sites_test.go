package server_test

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver"
	"skerry.dev/skerry/server/apiserver/audit"
	"skerry.dev/skerry/server/apiserver/pods"
	"skerry.dev/skerry/tunnel/exchange"
)

// startReaching starts a center that reaches these sites, and the spaces team and other. It returns
// the path of its audit log, too.
func startReaching(t *testing.T, sites pods.Sites, policy string) (c *center, log string) {
	dir := t.TempDir()
	log = filepath.Join(dir, "audit.log")
	c = start(t, dir, newAuthority(t), place, func(config *apiserver.Config) {
		config.Sites, config.Audit = sites, audit.Config{LogPath: log}
	})
	for _, s := range []string{"team", "other"} {
		c.createSpace(s, policy)
	}
	return c, log
}

// reported are the annotations of a mirrored object that is called there at a target, with UID u-1.
func reported(target, there string) map[string]string {
	return map[string]string{
		v1alpha1.AnnotationReportedFrom: target,
		exchange.ReportedAs:             there,
		exchange.ReportedUID:            "u-1",
	}
}

// mirror makes a Pod in a space as the center does for a report.
func (c *center) mirror(space, name string, notes map[string]string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: notes},
		Spec: corev1.PodSpec{
			NodeName:   "n",
			Containers: []corev1.Container{{Name: "c", Image: "i"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	made, err := clients(c.t, c.api.Loopback(space)).CoreV1().Pods("default").
		Create(c.t.Context(), pod, metav1.CreateOptions{})
	must(c.t, err)
	return made
}

// questions are what sites were asked.
type questions struct {
	mu  sync.Mutex
	all []string
}

func (q *questions) record(asked string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all = append(q.all, asked)
}

// asked returns what was asked since the last call, in alphabetical order.
func (q *questions) asked() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := q.all
	q.all = nil
	slices.Sort(out)
	return out
}

// last is the last question, and forgets all.
func (q *questions) last() (last string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.all); n > 0 {
		last, q.all = q.all[n-1], nil
	}
	return last
}

// askedSites are sites that remember what they were asked, and answer it in one line.
type askedSites struct {
	questions // TARGET SPACE/NAMESPACE/POD UID VERB QUERY BODY as USER
}

func (s *askedSites) Do(_ context.Context, target string, r *exchange.Request) (*http.Response, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	asked := []string{target, r.Space + "/" + r.Namespace + "/" + r.Pod, r.UID, string(r.Verb),
		r.Query.Encode(), string(r.Body)}
	s.record(strings.TrimSpace(strings.Join(asked, " ")) + " as " + r.User)
	if target == "away" {
		return nil, &exchange.Fault{
			Code:    503,
			Reason:  "ServiceUnavailable",
			Message: "site away cannot be reached",
			After:   10,
		}
	}
	return answerOf(target+"/below", 200, "a line\n"), nil
}

// answerOf is the answer of a site.
func answerOf(site string, code int, body string) *http.Response {
	return &http.Response{
		StatusCode:    code,
		Header:        http.Header{exchange.HeaderSite: {site}},
		ContentLength: -1,
		Body:          io.NopCloser(strings.NewReader(body)),
	}
}

func (s *askedSites) Serve(
	w http.ResponseWriter,
	req *http.Request,
	target string,
	r *exchange.Request,
	begun func(string, int),
) {
	for name := range r.Upgrade {
		if name == "Authorization" || strings.HasPrefix(name, "Impersonate") {
			w.WriteHeader(http.StatusTeapot)
		}
	}
	if _, err := s.Do(req.Context(), target, r); err == nil {
		begun(target+"/below", 403)
	}
	w.WriteHeader(http.StatusForbidden)
	_, _ = io.WriteString(w, `{"kind":"Status","message":"the site was asked"}`)
}

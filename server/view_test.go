package server_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/tunnel/exchange"
)

// shownSites are sites that answer each view with an empty list. They are asked
// TARGET/PATH SPACE NAMESPACE OPTIONS.
type shownSites struct{ askedSites }

func (s *shownSites) Do(_ context.Context, target string, r *exchange.Request) (*http.Response, error) {
	at := strings.Join(append([]string{target}, r.Path...), "/")
	s.record(at + " " + r.Space + " " + r.Namespace + " " + r.Query.Encode())
	body := `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[]}`
	if r.Watches() {
		body = `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"one"}}}` + "\n"
	}
	answer := answerOf(at, 200, body)
	answer.Header.Set("Content-Type", "application/json")
	return answer, nil
}

// at is the config of a client of a space's view at a path of targets.
func at(config *rest.Config, path string) *rest.Config {
	c := rest.CopyConfig(config)
	c.Host += "/targets/" + path
	return c
}

// TestViewsOfSites: the RBAC of a space decides who sees what the space has at a site, as if it were
// in the space, and the audit log says who has looked.
func TestViewsOfSites(t *testing.T) {
	asked := &shownSites{}
	c, audited := startReaching(t, asked, "Retain")
	admin := clients(t, at(c.admin("team"), "eu/paris")).CoreV1()
	_, err := admin.Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "a=b"})
	must(t, err)
	if got := asked.last(); got != "eu/paris team default labelSelector=a%3Db&resource=pods&version=v1" {
		t.Errorf("asked %q", got)
	}
	w, err := admin.Pods("default").Watch(t.Context(), metav1.ListOptions{})
	must(t, err)
	if e := <-w.ResultChan(); e.Type != "ADDED" {
		t.Errorf("event %v", e)
	}
	w.Stop()
	asked.last()
	if _, err := admin.Secrets("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) ||
		asked.last() != "" {
		t.Errorf("Secrets: %v", err)
	}
	if err := admin.Pods("default").Delete(t.Context(), "one", metav1.DeleteOptions{}); !apierrors.IsMethodNotSupported(
		err,
	) ||
		asked.last() != "" {
		t.Errorf("a deletion: %v", err)
	}

	grant := func(name string, rules ...rbacv1.PolicyRule) *rest.Config {
		team := clients(t, c.admin("team")).RbacV1()
		_, err := team.Roles(
			"default",
		).Create(
			t.Context(),
			&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules},
			metav1.CreateOptions{},
		)
		must(t, err)
		_, err = team.RoleBindings(
			"default",
		).Create(
			t.Context(),
			&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
				RoleRef: rbacv1.RoleRef{
					Kind:     "Role",
					Name:     name,
					APIGroup: rbacv1.GroupName,
				}, Subjects: []rbacv1.Subject{{Kind: "User", Name: name}}},
			metav1.CreateOptions{},
		)
		must(t, err)
		return at(c.as("team", name), "paris")
	}
	vera := clients(
		t,
		grant("vera", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}}),
	).CoreV1()
	if _, err := vera.Pods("default").List(t.Context(), metav1.ListOptions{}); err != nil || asked.last() == "" {
		t.Errorf("who may list: %v", err)
	}
	_, get := vera.Pods("default").Get(t.Context(), "one", metav1.GetOptions{})
	_, watch := vera.Pods("default").Watch(t.Context(), metav1.ListOptions{})
	_, elsewhere := vera.Pods("kube-system").List(t.Context(), metav1.ListOptions{})
	_, everywhere := vera.Pods("").List(t.Context(), metav1.ListOptions{})
	_, others := vera.ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	for what, err := range map[string]error{
		"get":               get,
		"watch":             watch,
		"another namespace": elsewhere,
		"all namespaces":    everywhere,
		"another kind":      others,
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("who may list pods of one namespace, %s: %v", what, err)
		}
	}
	// The path is no non-resource URL by which RBAC could be passed.
	paths := clients(
		t,
		grant(
			"paths",
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}},
		),
	).CoreV1()
	if _, err := paths.Pods("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("who may get configmaps lists pods: %v", err)
	}
	for name, config := range map[string]*rest.Config{
		"admin of nothing": c.as("other", "vera"),
		"nobody":           rest.AnonymousClientConfig(c.admin("team")),
	} {
		_, err := clients(t, at(config, "paris")).CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		if !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := asked.last(); got != "" {
		t.Errorf("asked %q for who may not", got)
	}
	c.stop()
	log, err := os.ReadFile(audited)
	must(t, err)
	for _, part := range []string{
		`/clusters/team/targets/eu/paris/api/v1/namespaces/default/pods`,
		`"skerry.dev/site":"eu/paris"`,
		`"skerry.dev/space":"team"`,
		`"verb":"list"`,
		`"verb":"watch"`,
	} {
		if !strings.Contains(string(log), part) {
			t.Errorf("the audit log lacks %s:\n%s", part, log)
		}
	}
}

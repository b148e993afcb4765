package server_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/tunnel/events"
	"skerry.dev/skerry/tunnel/exchange"
)

// sayingSites are oslo and bergen, which say two things of whatever they are asked about, and
// others, which are away.
type sayingSites struct{ askedSites }

func (s *sayingSites) Do(_ context.Context, target string, r *exchange.Request) (*http.Response, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	s.record(strings.TrimSpace(strings.Join(
		[]string{target, r.Space + "/" + r.Namespace, r.Query.Get("about"), r.UID}, " ")))
	if target != "oslo" && target != "bergen" {
		return nil, &exchange.Fault{Code: 503, Reason: "ServiceUnavailable", Message: "site " + target + " cannot be reached"}
	}
	text, err := events.Encode([]events.Event{
		{Name: "e1", Type: "Normal", Reason: "Pulled", Message: "of " + target, Count: 1},
		{Name: "e2", Type: "Warning", Reason: "BackOff", Message: "of " + target, Count: 2},
	})
	return answerOf(target, 200, string(text)), err
}

// TestSiteEvents: a list of Events about one object has what its sites say, in both APIs and as a
// table, by the space's RBAC. No other list, no watch, and nothing of the center asks a site.
func TestSiteEvents(t *testing.T) {
	sites := &sayingSites{}
	c, _ := startReaching(t, sites, "Delete")
	pod := c.mirror("team", "web.oslo", reported("oslo", "web"))
	c.mirror("team", "far", reported("away", "web"))
	c.mirror("other", "web.bergen", reported("bergen", "web"))
	loopback := clients(t, c.api.Loopback("team"))
	_, err := loopback.AppsV1().ReplicaSets("default").Create(t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web.oslo", Annotations: reported("bergen", "web")},
		Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
				Spec: pod.Spec}},
	}, metav1.CreateOptions{})
	must(t, err)
	stored := events.Name("oslo", "e2", "Pod", "web.oslo")
	for name, reason := range map[string]string{stored: "BackOff", "web.oslo.z": "Moved"} {
		_, err = loopback.CoreV1().Events("default").Create(t.Context(), &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Name: name, Annotations: map[string]string{"skerry.dev/reported-from": "oslo"}},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "web.oslo", UID: pod.UID},
			Type:           "Warning", Reason: reason, Message: "stored", Count: 1,
		}, metav1.CreateOptions{})
		must(t, err)
	}

	admin := c.admin("team")
	list := func(config *rest.Config, namespace, selector string, limit int64) ([]string, []string, error) {
		t.Helper()
		said := &warned{}
		config = rest.CopyConfig(config)
		config.WarningHandler = said
		var out []string
		o := metav1.ListOptions{FieldSelector: selector, Limit: limit}
		for {
			found, err := clients(t, config).CoreV1().Events(namespace).List(t.Context(), o)
			if err != nil {
				return nil, said.texts, err
			}
			for _, e := range found.Items {
				out = append(out, fmt.Sprint(e.InvolvedObject.Kind, " ", e.Reason, " ", e.Message))
			}
			if o.Continue = found.Continue; o.Continue == "" {
				slices.Sort(out)
				return out, said.texts, nil
			}
		}
	}
	uid := string(pod.UID)
	for name, c := range map[string]struct {
		namespace, selector string
		want, asked         []string
	}{
		"describe": {"default",
			"involvedObject.name=web.oslo,involvedObject.namespace=default,involvedObject.kind=Pod,involvedObject.uid=" + uid,
			[]string{"Pod BackOff stored", "Pod Moved stored", "Pod Pulled of oslo"}, []string{"oslo team/default Pod/web u-1"}},
		"any kind": {"default", "involvedObject.name=web.oslo",
			[]string{"Pod BackOff stored", "Pod Moved stored", "Pod Pulled of oslo", "ReplicaSet BackOff of bergen",
				"ReplicaSet Pulled of bergen"},
			[]string{"bergen team/default ReplicaSet/web", "oslo team/default Pod/web u-1"}},
		"by reason": {"default", "involvedObject.name=web.oslo,involvedObject.kind=Pod,reason=Pulled",
			[]string{"Pod Pulled of oslo"}, []string{"oslo team/default Pod/web u-1"}},
		"another's":         {"default", "involvedObject.name=web.bergen", nil, nil},
		"an earlier object": {"default", "involvedObject.name=web.oslo,involvedObject.uid=u-0", nil, nil},
		"nowhere":           {"kube-system", "involvedObject.name=web.oslo", nil, nil},
		"all namespaces":    {"", "involvedObject.name=web.oslo", []string{"Pod BackOff stored", "Pod Moved stored"}, nil},
	} {
		for _, limit := range []int64{0, 1} {
			got, texts, err := list(admin, c.namespace, c.selector, limit)
			if asked := sites.asked(); err != nil || !slices.Equal(got, c.want) || !slices.Equal(asked, c.asked) ||
				texts != nil {
				t.Errorf("%s: %q, %q, %v; asked %q", name, got, texts, err, asked)
			}
		}
	}
	_, texts, err := list(admin, "default", "involvedObject.name=far", 0)
	if err != nil || !slices.Equal(texts,
		[]string{"away: only the events that it has reported are shown: site away cannot be reached"}) {
		t.Errorf("a site that is away: %q, %v", texts, err)
	}
	sites.asked()
	ofKind, texts, err := list(admin, "default", "involvedObject.kind=Pod,reason=Pulled", 0)
	asked := sites.asked()
	if err != nil || !slices.Equal(ofKind, []string{"Pod Pulled of oslo"}) || len(texts) != 1 ||
		!slices.Equal(asked, []string{"away team/default Pod/web u-1", "oslo team/default Pod/web u-1"}) {
		t.Errorf("of a kind: %q, %q, %v; asked %q", ofKind, texts, err, asked)
	}
	ofAll, texts, err := list(admin, "default", "type=Warning", 0)
	asked = sites.asked()
	if err != nil || !slices.Equal(ofAll, []string{"Pod BackOff stored", "Pod Moved stored", "ReplicaSet BackOff of bergen"}) ||
		len(texts) != 1 || !slices.Equal(asked, []string{"away team/default Pod/web u-1",
		"bergen team/default ReplicaSet/web", "oslo team/default Pod/web u-1"}) {
		t.Errorf("of a namespace: %q, %q, %v; asked %q", ofAll, texts, err, asked)
	}
	everywhere, _, err := list(admin, "", "type=Warning", 0)
	if asked := sites.asked(); err != nil || len(everywhere) != 2 || len(asked) > 0 {
		t.Errorf("of all namespaces: %q, %v; asked %q", everywhere, err, asked)
	}
	newer, err := clients(t, admin).EventsV1().Events("default").List(t.Context(),
		metav1.ListOptions{FieldSelector: "regarding.name=web.oslo,regarding.kind=Pod"})
	if err != nil || len(newer.Items) != 3 {
		t.Errorf("events.k8s.io: %+v, %v", newer, err)
	}
	table, err := clients(t, admin).CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces/default/events").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Param("fieldSelector",
		"involvedObject.name=web.oslo,involvedObject.kind=Pod").Do(t.Context()).Raw()
	if err != nil || !strings.Contains(string(table), "of oslo") {
		t.Errorf("a table: %s, %v", table, err)
	}
	sites.asked()

	// Nothing of the center asks; nor do a watch, a deletion, and who may not list.
	if _, _, err := list(c.api.Loopback("team"), "default", "involvedObject.name=web.oslo", 0); err != nil {
		t.Error(err)
	}
	w, err := clients(t, admin).CoreV1().Events("default").Watch(t.Context(),
		metav1.ListOptions{FieldSelector: "involvedObject.name=web.oslo"})
	must(t, err)
	w.Stop()
	_, _, stranger := list(c.as("team", "sven"), "default", "involvedObject.name=web.oslo", 0)
	must(t, clients(t, admin).CoreV1().Events("default").DeleteCollection(
		t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "involvedObject.name=far"}))
	if asked := sites.asked(); asked != nil || !apierrors.IsForbidden(stranger) {
		t.Errorf("asked %q; a stranger: %v", asked, stranger)
	}
}

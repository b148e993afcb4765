package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver"
)

// tracer answers ServiceReviews, and says which it was asked.
type tracer struct {
	mu    sync.Mutex
	asked []string
}

// Review implements apiserver.ServiceReviewer.
func (f *tracer) Review(
	_ context.Context, space string, q v1alpha1.ServiceReviewSpec,
) (*v1alpha1.ServiceReviewStatus, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, space+"/"+q.Namespace+"/"+q.Service)
	return &v1alpha1.ServiceReviewStatus{Answered: true, Reason: "Answered", Site: "oslo", Pod: "web-1", As: "front/caller-1",
		Hops: []v1alpha1.ServiceHop{{At: "oslo", Reason: "Answered", Pod: "web-1"}}}, nil
}

func (f *tracer) take() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := strings.Join(f.asked, " ")
	f.asked = nil
	return asked
}

// Who has all rights in one space traces no Service of another one: that looks as a space that there is not. In their
// own space users trace what they may get, and are told of no Pod that they may not get.
func TestAttacksByTraces(t *testing.T) {
	f := &tracer{}
	c := start(t, t.TempDir(), newAuthority(t), nil, func(cfg *apiserver.Config) { cfg.Services, cfg.Reviewer = f, noReviewer{} })
	eve, mallory := attackers(t, c, "traced")
	c.createSpace("victim", "Retain")
	review := func(namespace, more string) string {
		return fmt.Sprintf(`{"apiVersion":"skerry.dev/v1alpha1","kind":"ServiceReview","spec":{"namespace":%q,"service":"web",`+
			`"from":"paris"%s}}`, namespace, more)
	}
	const path = "/apis/skerry.dev/v1alpha1/servicereviews"
	in := func(a *attacker, space string) *attacker {
		other := *a
		other.space = space
		return &other
	}
	for _, namespace := range []string{"default", "front"} {
		code, there := in(eve, "victim").do("POST", path, review(namespace, ""))
		nowhere, none := in(eve, "nosuch").do("POST", path, review(namespace, ""))
		if code != nowhere || code < 400 || strings.ReplaceAll(there, "victim", "nosuch") != none {
			t.Errorf("another space: %d %s\nno space: %d %s", code, there, nowhere, none)
		}
	}
	for name, a := range map[string]*attacker{"in root": in(eve, "root"), "in all": in(eve, "*")} {
		if code, answer := a.do("POST", path, review("default", "")); code < 400 {
			t.Errorf("%s: %d %s", name, code, answer)
		}
	}
	for name, body := range map[string]string{
		"a Service of a path":     strings.Replace(review("default", ""), `"web"`, `"../victim/web"`, 1),
		"a Namespace of a path":   review("../victim/default", ""),
		"a site of a path":        strings.Replace(review("default", ""), `"paris"`, `"../paris"`, 1),
		"a site without a name":   strings.Replace(review("default", ""), `"paris"`, `"nordic//paris"`, 1),
		"a Pod of a path":         review("default", `,"pod":"../victim/x"`),
		"a Pod without Namespace": review("default", `,"pod":"x"`),
		"a port of words":         review("default", `,"port":"80 81"`),
		"another kind":            strings.Replace(review("default", ""), "ServiceReview", "PlacementReview", 1),
		"an unknown field":        review("default", `,"space":"victim"`),
	} {
		if code, answer := eve.do("POST", path, body); code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, code, answer)
		}
	}
	if asked := f.take(); asked != "" {
		t.Fatalf("asked %s", asked)
	}
	if code, answer := eve.do("POST", path, review("front", `,"pod":"front/caller-1"`)); code != http.StatusCreated ||
		f.take() != "traced/front/web" || !strings.Contains(answer, `"as":"front/caller-1"`) || !strings.Contains(answer, "web-1") {
		t.Errorf("their own: %d %s", code, answer)
	}
	if code, answer := mallory.do("POST", path, review("front", "")); code != http.StatusForbidden {
		t.Errorf("a Service of a Namespace without rights: %d %s", code, answer)
	}
	if code, answer := mallory.do("POST", path, review("default", `,"pod":"front/caller-1"`)); code != http.StatusForbidden {
		t.Errorf("as a Pod of a Namespace without rights: %d %s", code, answer)
	}
	code, answer := mallory.do("POST", path, review("default", ""))
	if code != http.StatusCreated || f.take() != "traced/default/web" || strings.Contains(answer, "caller-1") ||
		!strings.Contains(answer, `"pod":"web-1"`) {
		t.Errorf("of one Namespace: %d %s", code, answer)
	}
	if code, _ := eve.do("GET", path, ""); code != http.StatusMethodNotAllowed {
		t.Errorf("a list: %d", code)
	}
}

type noReviewer struct{ apiserver.Reviewer }

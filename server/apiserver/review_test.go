package apiserver

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
)

type fakeReviewer struct {
	asked []string
	by    v1alpha1.ReviewedPolicy
}

func (f *fakeReviewer) Review(
	_ context.Context, space string, q v1alpha1.PlacementReviewSpec,
) (*v1alpha1.PlacementReviewStatus, error) {
	f.asked = append(f.asked, space)
	of := func(group, resource, name string) v1alpha1.ReviewedCompanion {
		return v1alpha1.ReviewedCompanion{Object: v1alpha1.ReviewedObject{
			APIGroup: group, Resource: resource, Namespace: "app", Name: name}}
	}
	return &v1alpha1.PlacementReviewStatus{Decision: []string{"a"}, DecidedBy: f.by, WaitsFor: "secrets/of-others",
		GoesAlong:   []v1alpha1.ReviewedCompanion{of("", "secrets", "cert"), of("apps", "deployments", "web")},
		StaysBehind: []v1alpha1.ReviewedCompanion{of("", "services", "web")}}, nil
}

func TestReviewsAreCreatedOnlyByWhoMayGetTheObject(t *testing.T) {
	const head = `{"apiVersion":"skerry.dev/v1alpha1","kind":"PlacementReview","spec":`
	reviewer := &fakeReviewer{}
	may := func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		if a.GetVerb() == "get" && a.GetResource() == "deployments" && a.GetNamespace() == "app" && a.GetName() == "web" ||
			a.GetResource() == "placements" && a.GetName() == "p" {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionNoOpinion, "no right", nil
	}
	s := &reviews{reviewer, nil, authorizer.AuthorizerFunc(may)}
	for name, c := range map[string]struct {
		method, space, body string
		want                int
	}{
		"an object":       {"POST", "shop", `{"object":{"apiGroup":"apps","resource":"deployments","namespace":"app","name":"web"}}}`, 201},
		"a Placement":     {"POST", "shop", `{"placement":"p","without":["a"]}}`, 201},
		"another object":  {"POST", "shop", `{"object":{"resource":"secrets","namespace":"app","name":"web"}}}`, 403},
		"both":            {"POST", "shop", `{"placement":"p","object":{"resource":"pods","name":"x"}}}`, 400},
		"neither":         {"POST", "shop", `{}}`, 400},
		"unknown field":   {"POST", "shop", `{"placement":"p","wiht":["a"]}}`, 400},
		"a slash":         {"POST", "shop", `{"placement":"../p"}}`, 400},
		"too many":        {"POST", "shop", `{"placement":"p","without":["a"` + strings.Repeat(`,"a"`, 64) + `]}}`, 400},
		"too long":        {"POST", "shop", `{"placement":"` + strings.Repeat("p", maxReview) + `"}}`, 413},
		"in root":         {"POST", "root", `{"placement":"p"}}`, 404},
		"a list":          {"GET", "shop", ``, 405},
		"other documents": {"POST", "shop", `{"placement":"p"},"kind":"Pod"}`, 400},
	} {
		r := httptest.NewRequest(c.method, "/apis/skerry.dev/v1alpha1/placementreviews", strings.NewReader(head+c.body))
		ctx := request.WithSpace(r.Context(), c.space)
		ctx = apirequest.WithUser(ctx, &user.DefaultInfo{Name: "eve"})
		r = r.WithContext(apirequest.WithRequestInfo(ctx, &apirequest.RequestInfo{IsResourceRequest: true,
			APIGroup: "skerry.dev", APIVersion: "v1alpha1", Resource: "placementreviews"}))
		w := httptest.NewRecorder()
		reviewer.asked = nil
		s.ServeHTTP(w, r)
		if w.Code != c.want || (len(reviewer.asked) > 0) != (c.want == http.StatusCreated) {
			t.Errorf("%s: %d and asked %v, not %d: %s", name, w.Code, reviewer.asked, c.want, w.Body)
		}
		var answer v1alpha1.PlacementReview
		if c.want == http.StatusCreated && (json.Unmarshal(w.Body.Bytes(), &answer) != nil || len(answer.Status.Decision) != 1) {
			t.Errorf("%s: the answer is %s", name, w.Body)
		}
		if along := answer.Status.GoesAlong; c.want == http.StatusCreated &&
			(len(along) != 1 || along[0].Object.Name != "web" || len(answer.Status.StaysBehind) != 0) {
			t.Errorf("%s: it tells of what may not be got: %s", name, w.Body)
		}
	}
}

func TestAReviewTellsNothingOfOthersThatMoveAlong(t *testing.T) {
	on := func(kind, name string) v1alpha1.ReviewedPolicy {
		return v1alpha1.ReviewedPolicy{Kind: kind, Name: name, Over: []string{"p", "q"}}
	}
	for _, c := range []struct {
		by    v1alpha1.ReviewedPolicy
		may   string // besides the Deployment
		tells bool
		over  int
	}{
		{by: on("Placement", "p")},
		{by: on("Placement", "p"), may: "placements/p", tells: true, over: 1},
		{by: on("NamespaceLabel", "a")},
		{by: on("NamespaceLabel", "a"), may: "namespaces/app", tells: true},
		{by: on("DefaultTargets", ""), may: "placements/q", over: 1},
		{by: on("ObjectLabel", "a"), tells: true},
	} {
		may := func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
			if a.GetResource() == "deployments" || a.GetResource()+"/"+a.GetName() == c.may {
				return authorizer.DecisionAllow, "", nil
			}
			return authorizer.DecisionNoOpinion, "no right", nil
		}
		r := httptest.NewRequest("POST", "/apis/skerry.dev/v1alpha1/placementreviews", strings.NewReader(
			`{"apiVersion":"skerry.dev/v1alpha1","kind":"PlacementReview","spec":{"object":`+
				`{"apiGroup":"apps","resource":"deployments","namespace":"app","name":"web"}}}`))
		ctx := apirequest.WithUser(request.WithSpace(r.Context(), "shop"), &user.DefaultInfo{Name: "bob"})
		r = r.WithContext(apirequest.WithRequestInfo(ctx, &apirequest.RequestInfo{IsResourceRequest: true,
			APIGroup: "skerry.dev", APIVersion: "v1alpha1", Resource: "placementreviews"}))
		w := httptest.NewRecorder()
		(&reviews{&fakeReviewer{by: c.by}, nil, authorizer.AuthorizerFunc(may)}).ServeHTTP(w, r)
		var answer v1alpha1.PlacementReview
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusCreated {
			t.Fatalf("%+v: %d %v", c, w.Code, err)
		}
		if tells := strings.Contains(answer.Status.WaitsFor, "of-others"); tells != c.tells ||
			answer.Status.WaitsFor == "" || len(answer.Status.DecidedBy.Over) != c.over {
			t.Errorf("%+v: %s", c, w.Body)
		}
	}
}

package apiserver

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/request"
)

// Whoever may not get a Pod reads its name in no part of a review.
func TestAServiceReviewNamesNoPodThatTheUserMayNotGet(t *testing.T) {
	may := func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		if a.GetResource() == "pods" && a.GetName() == "open-1" {
			return authorizer.DecisionAllow, "", nil
		}
		return authorizer.DecisionNoOpinion, "no right", nil
	}
	r := httptest.NewRequest("POST", "/", nil)
	ctx := apirequest.WithUser(request.WithSpace(r.Context(), "shop"), &user.DefaultInfo{Name: "eve"})
	status := v1alpha1.ServiceReviewStatus{As: "app/caller-7", Pod: "db-7",
		Message: "Service app/db: NetworkPolicy one does not let it in at port 80 of pod app/db-7; pod app/open-1 is not ready; pod app/db-70 and pod db-7.",
		Hops: []v1alpha1.ServiceHop{{Pod: "db-7", Message: "forward a port of pod db-7: closed"},
			{Pod: "open-1", Message: "pod app/open-1 is not ready"}}}
	s := &reviews{nil, nil, authorizer.AuthorizerFunc(may)}
	s.hidePods(r.WithContext(ctx), &v1alpha1.ServiceReviewSpec{Namespace: "app"}, &status)
	text := fmt.Sprint(status)
	if strings.Count(text, "-7") != 1 || !strings.Contains(text, "pod app/db-70 and a pod.") || strings.Count(text, "open-1") != 3 {
		t.Error(text)
	}
}

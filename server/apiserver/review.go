package apiserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/discovery"
	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/apiserver/response"
)

// Reviewer answers where objects are, or would be, and why.
type Reviewer interface {
	// Review answers a question about a space. The error is one of Kubernetes' API.
	Review(ctx context.Context, space string, q v1alpha1.PlacementReviewSpec) (*v1alpha1.PlacementReviewStatus, error)
}

// maxReview is how long a question may be.
const maxReview = 64 << 10

// reviews answers PlacementReviews and ServiceReviews. The chain has authorized the creation of the review; whether
// the user may get what the review is about is asked here, and so is what of its company the user may
// get.
type reviews struct {
	reviewer Reviewer
	services ServiceReviewer
	authz    authorizer.Authorizer
}

// takes reports whether a request is about reviews. Their definition is served with all
// others of skerry.dev, but nothing of them is stored.
func (*reviews) takes(r *http.Request) bool {
	info, ok := apirequest.RequestInfoFrom(r.Context())
	return ok && info.IsResourceRequest && info.APIGroup == v1alpha1.GroupVersion.Group &&
		discovery.IsReview(info.Resource)
}

// ServeHTTP implements http.Handler.
func (s *reviews) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info, _ := apirequest.RequestInfoFrom(r.Context())
	space := request.Space(r.Context())
	switch {
	case s.reviewer == nil, info.Resource == discovery.ServiceReviews && s.services == nil,
		space == request.RootSpace, space == request.AllSpaces,
		info.APIVersion != v1alpha1.GroupVersion.Version || info.Name != "" || info.Subresource != "":
		response.Write(w, response.NotFound())
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		response.Write(w, response.Status(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
			"a review is not stored: it can be created only, and its status is the answer"))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReview))
	if err != nil {
		response.Write(w, responsewriters.ErrorToAPIStatus(apierrors.NewRequestEntityTooLargeError(
			fmt.Sprintf("a review has at most %d bytes", maxReview))))
		return
	}
	var review any
	if info.Resource == discovery.ServiceReviews {
		review, err = s.ofService(r, space, body)
	} else {
		review, err = s.answer(r, space, body)
	}
	if err != nil {
		response.Write(w, responsewriters.ErrorToAPIStatus(err))
		return
	}
	answer, err := json.Marshal(review)
	if err != nil {
		response.Write(w, responsewriters.ErrorToAPIStatus(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(answer) // who has gone need not know
}

func (s *reviews) answer(r *http.Request, space string, body []byte) (*v1alpha1.PlacementReview, error) {
	review, err := v1alpha1.ReadPlacementReview(body)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if err := s.mayGet(r, review.Spec); err != nil {
		return nil, err
	}
	status, err := s.reviewer.Review(r.Context(), space, review.Spec)
	if err != nil {
		return nil, err
	}
	review.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "PlacementReview"}
	review.Status = *status
	s.cover(r, &review.Status, review.Spec.Object)
	for _, list := range []*[]v1alpha1.ReviewedCompanion{&review.Status.GoesAlong, &review.Status.StaysBehind} {
		*list = slices.DeleteFunc(*list, func(c v1alpha1.ReviewedCompanion) bool {
			return s.mayGet(r, v1alpha1.PlacementReviewSpec{Object: &c.Object}) != nil
		})
	}
	return review, nil
}

// cover removes what the answer about an object says of others that the same policy decides about, where the
// user may not get that policy, and the names of other Placements that the user may not get.
func (s *reviews) cover(r *http.Request, status *v1alpha1.PlacementReviewStatus, o *v1alpha1.ReviewedObject) {
	by := &status.DecidedBy
	by.Over = slices.DeleteFunc(by.Over, func(name string) bool {
		return s.mayGet(r, v1alpha1.PlacementReviewSpec{Placement: name}) != nil
	})
	of := v1alpha1.PlacementReviewSpec{Placement: by.Name}
	switch {
	case o == nil || status.WaitsFor == "" || by.Kind == "ObjectLabel":
		return
	case by.Kind != "Placement" && o.Namespace == "":
		return
	case by.Kind != "Placement":
		of = v1alpha1.PlacementReviewSpec{Object: &v1alpha1.ReviewedObject{Resource: "namespaces", Name: o.Namespace}}
	}
	if s.mayGet(r, of) != nil {
		status.WaitsFor = "all that moves with it"
	}
}

// mayGet refuses who may not get what the review is about.
func (s *reviews) mayGet(r *http.Request, q v1alpha1.PlacementReviewSpec) error {
	a := authorizer.AttributesRecord{APIGroup: v1alpha1.GroupVersion.Group, APIVersion: v1alpha1.GroupVersion.Version,
		Resource: "placements", Name: q.Placement}
	if o := q.Object; o != nil {
		a.APIGroup, a.APIVersion, a.Resource, a.Namespace, a.Name = o.APIGroup, "*", o.Resource, o.Namespace, o.Name
		if o.APIGroup == "" && o.Resource == "namespaces" {
			a.Namespace = o.Name
		}
	}
	return s.mayGetIt(r, discovery.Reviews, a)
}

// mayGetIt refuses who may not get an object that a review is about.
func (s *reviews) mayGetIt(r *http.Request, review string, a authorizer.AttributesRecord) error {
	user, ok := apirequest.UserFrom(r.Context())
	if !ok {
		return apierrors.NewUnauthorized("no user")
	}
	a.User, a.Verb, a.ResourceRequest = user, "get", true
	decision, why, err := s.authz.Authorize(r.Context(), a)
	if decision == authorizer.DecisionAllow {
		return nil
	}
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	return apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource(review).GroupResource(), "",
		fmt.Errorf("user %q may not get %s %q, which the review is about: %s", user.GetName(), a.Resource, a.Name, why))
}

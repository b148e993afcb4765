package apiserver

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/discovery"
)

// ServiceReviewer has sites call Services of a space.
type ServiceReviewer interface {
	// Review answers a question about a space. The error is one of Kubernetes' API.
	Review(ctx context.Context, space string, q v1alpha1.ServiceReviewSpec) (*v1alpha1.ServiceReviewStatus, error)
}

// ofService answers a ServiceReview.
func (s *reviews) ofService(r *http.Request, space string, body []byte) (*v1alpha1.ServiceReview, error) {
	review, err := v1alpha1.ReadServiceReview(body)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	q := &review.Spec
	if err := s.mayGetOf(r, "services", q.Namespace, q.Service); err != nil {
		return nil, err
	}
	if q.Pod != "" {
		namespace, name, _ := strings.Cut(q.Pod, "/")
		if err := s.mayGetOf(r, "pods", namespace, name); err != nil {
			return nil, err
		}
	}
	status, err := s.services.Review(r.Context(), space, *q)
	if err != nil {
		return nil, err
	}
	review.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ServiceReview"}
	review.Status = *status
	s.hidePods(r, q, &review.Status)
	return review, nil
}

// hidePods leaves out the names of Pods that the user may not get, also where messages have them.
func (s *reviews) hidePods(r *http.Request, q *v1alpha1.ServiceReviewSpec, status *v1alpha1.ServiceReviewStatus) {
	namespace, name, _ := strings.Cut(status.As, "/")
	if status.As != "" && s.mayGetOf(r, "pods", namespace, name) != nil {
		status.As = ""
	}
	names, texts := []*string{&status.Pod}, []*string{&status.Message}
	for i := range status.Hops {
		names, texts = append(names, &status.Hops[i].Pod), append(texts, &status.Hops[i].Message)
	}
	for _, name := range names {
		if *name == "" || s.mayGetOf(r, "pods", q.Namespace, *name) == nil {
			continue
		}
		said := podSaid(q.Namespace, *name)
		for _, text := range texts {
			*text = said.ReplaceAllString(*text, "a pod$1")
		}
		*name = ""
	}
}

// podSaid finds a Pod in a message, and not those whose names begin with its name.
func podSaid(namespace, name string) *regexp.Regexp {
	return regexp.MustCompile(`pod (?:` + regexp.QuoteMeta(namespace) + `/)?` + regexp.QuoteMeta(name) +
		`(\.?(?:[^-.a-z0-9]|$))`)
}

func (s *reviews) mayGetOf(r *http.Request, resource, namespace, name string) error {
	return s.mayGetIt(r, discovery.ServiceReviews, authorizer.AttributesRecord{APIVersion: "v1", Resource: resource,
		Namespace: namespace, Name: name})
}

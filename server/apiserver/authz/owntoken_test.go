package authz

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"skerry.dev/skerry/server/api/v1alpha1"
)

type accountsOf map[string]map[string]string // annotations, by name; UIDs are the names with "-1"

func (a accountsOf) GetServiceAccount(_ context.Context, ns, name string) (*corev1.ServiceAccount, error) {
	annotations, ok := a[name]
	if !ok || ns != v1alpha1.UsersNamespace {
		return nil, apierrors.NewNotFound(corev1.Resource("serviceaccounts"), name)
	}
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name + "-1"),
		Annotations: annotations}}, nil
}

// TestOwnToken: a user renews their own token, where the account says so, and nothing else.
func TestOwnToken(t *testing.T) {
	o := OwnToken{accountsOf{"alice": {v1alpha1.AnnotationRenewable: "true"}, "bob": nil}}
	as := func(name, uid string, change func(*authorizer.AttributesRecord)) authorizer.Decision {
		a := authorizer.AttributesRecord{User: &user.DefaultInfo{Name: name, UID: uid}, Verb: "create",
			Namespace: v1alpha1.UsersNamespace, Resource: "serviceaccounts", Subresource: "token", Name: name,
			ResourceRequest: true}
		if change != nil {
			change(&a)
		}
		decision, _, err := o.Authorize(t.Context(), a)
		if err != nil {
			t.Error(err)
		}
		return decision
	}
	if as("alice", "alice-1", nil) != authorizer.DecisionAllow {
		t.Error("alice may not renew")
	}
	for what, got := range map[string]authorizer.Decision{
		"an account that is not renewable":  as("bob", "bob-1", nil),
		"an account that is gone":           as("carol", "carol-1", nil),
		"an account that was made anew":     as("alice", "alice-0", nil),
		"a user of a provider":              as("alice", "", nil),
		"another user":                      as("bob", "alice-1", func(a *authorizer.AttributesRecord) { a.Name = "alice" }),
		"another namespace":                 as("alice", "alice-1", func(a *authorizer.AttributesRecord) { a.Namespace = "default" }),
		"the account itself":                as("alice", "alice-1", func(a *authorizer.AttributesRecord) { a.Subresource = "" }),
		"another verb":                      as("alice", "alice-1", func(a *authorizer.AttributesRecord) { a.Verb = "update" }),
		"another resource":                  as("alice", "alice-1", func(a *authorizer.AttributesRecord) { a.Resource = "pods" }),
		"another group":                     as("alice", "alice-1", func(a *authorizer.AttributesRecord) { a.APIGroup = "example.com" }),
		"a path that only looks like it is": as("alice", "alice-1", func(a *authorizer.AttributesRecord) { a.ResourceRequest = false }),
	} {
		if got != authorizer.DecisionNoOpinion {
			t.Errorf("%s: %v", what, got)
		}
	}
}

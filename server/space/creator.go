package space

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	rbacv1client "k8s.io/client-go/kubernetes/typed/rbac/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// creatorBinding is the ClusterRoleBinding that makes the creator of a Space its admin.
const creatorBinding = "skerry:creator"

// admitCreator makes the user who created the Space its admin, once: whoever is admin there may
// take the binding away for good.
func (c *Controller) admitCreator(ctx context.Context, s *v1alpha1.Space) error {
	creator := s.Annotations[v1alpha1.AnnotationCreator]
	if creator == "" || meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady) != nil {
		return nil
	}
	client, err := rbacv1client.NewForConfig(protobuf(c.config.Loopback(s.Name)))
	if err != nil {
		return fmt.Errorf("client for space %s: %w", s.Name, err)
	}
	_, err = client.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: creatorBinding},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: creator}},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make %s admin of space %s: %w", creator, s.Name, err)
	}
	return nil
}

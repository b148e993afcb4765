package space

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// finalizer keeps a Space until what is in it is gone.
const finalizer = "skerry.dev/space"

// bootstrapNamespaces are in every space, as in every cluster.
var bootstrapNamespaces = []string{metav1.NamespaceDefault, metav1.NamespaceSystem}

// reconcile brings one Space forward. It returns when to look again, 0 for when it changes.
func (c *Controller) reconcile(ctx context.Context, name string) (time.Duration, error) {
	obj, err := c.client.Resource(spaces).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return 0, c.sweep(ctx, name)
	}
	if err != nil {
		return 0, fmt.Errorf("read space: %w", err)
	}
	s := &v1alpha1.Space{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, s); err != nil {
		return 0, fmt.Errorf("decode space: %w", err)
	}
	if s.DeletionTimestamp != nil {
		return c.delete(ctx, s)
	}
	return 0, c.settle(ctx, s)
}

// settled reports whether a space has all that it needs, and says so.
func (c *Controller) settled(s *v1alpha1.Space) bool {
	ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == s.Generation &&
		s.Status.URL == c.config.URL(s.Name) && s.Status.HostURL == c.hostURL(s.Name)
}

func (c *Controller) hostURL(space string) string {
	if c.config.HostURL == nil {
		return ""
	}
	return c.config.HostURL(space)
}

// settle gives a new space what it needs.
func (c *Controller) settle(ctx context.Context, s *v1alpha1.Space) error {
	if c.settled(s) {
		return nil
	}
	url := c.config.URL(s.Name)
	// First of all: a Space that is deleted before it has its finalizer would leave behind what is
	// in it.
	if !slices.Contains(s.Finalizers, finalizer) {
		s.Finalizers = append(s.Finalizers, finalizer)
		if err := c.update(ctx, s, ""); err != nil {
			return err
		}
	}
	if err := ensureNamespaces(ctx, c.config.Loopback, s.Name); err != nil {
		return err
	}
	if err := c.admitCreator(ctx, s); err != nil {
		return err
	}
	s.Status.URL, s.Status.HostURL = url, c.hostURL(s.Name)
	c.setCondition(s, v1alpha1.ConditionReady, metav1.ConditionTrue, "Served", "the space is served at "+url)
	if err := c.update(ctx, s, "status"); err != nil {
		return err
	}
	c.config.Log.Info("space is ready", "space", s.Name)
	return nil
}

// ensureNamespaces creates the namespaces that every space has.
func ensureNamespaces(ctx context.Context, loopback func(string) *rest.Config, space string) error {
	client, err := corev1client.NewForConfig(protobuf(loopback(space)))
	if err != nil {
		return fmt.Errorf("client for space %s: %w", space, err)
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, name := range bootstrapNamespaces {
		g.Go(func() error {
			_, err := client.Namespaces().Create(
				ctx,
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
				metav1.CreateOptions{},
			)
			if err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("create namespace %s in space %s: %w", name, space, err)
			}
			return nil
		})
	}
	return g.Wait()
}

func (c *Controller) setCondition(
	s *v1alpha1.Space,
	kind string,
	status metav1.ConditionStatus,
	reason, message string,
) {
	meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: s.Generation})
}

// update writes the object, or its subresource, and takes over what the API answers.
func (c *Controller) update(ctx context.Context, s *v1alpha1.Space, subresource string) error {
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s)
	if err != nil {
		return fmt.Errorf("encode space: %w", err)
	}
	u := &unstructured.Unstructured{Object: m}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Space"))
	var subs []string
	if subresource != "" {
		subs = append(subs, subresource)
	}
	out, err := c.client.Resource(spaces).Update(ctx, u, metav1.UpdateOptions{}, subs...)
	if err != nil {
		return fmt.Errorf("update space: %w", err)
	}
	*s = v1alpha1.Space{}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(out.Object, s)
}

package space

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/store"
)

// retainRecheck is how often a space that may not go yet is looked at again.
const retainRecheck = 5 * time.Second

// delete lets a Space go: at once by policy Delete, by policy Retain when users have left nothing
// in it.
func (c *Controller) delete(ctx context.Context, s *v1alpha1.Space) (time.Duration, error) {
	if !slices.Contains(s.Finalizers, finalizer) {
		return 0, nil
	}
	// The Space is marked as being deleted, so nobody begins to borrow of it any more.
	if by, err := c.config.Content.Borrowers(ctx, s.Name); err != nil {
		return 0, err
	} else if len(by) > 0 {
		return retainRecheck, c.refuse(
			ctx,
			s,
			"Lends",
			fmt.Sprintf("its definitions serve space %s; remove them from spec.apis there", strings.Join(by, ", ")),
		)
	}
	if s.Spec.DeletionPolicy != v1alpha1.DeletionDelete {
		keys, err := c.config.Content.Keys(ctx, s.Name)
		if err != nil {
			return 0, err
		}
		if left := usersOwn(keys); len(left) > 0 {
			return retainRecheck, c.refuse(
				ctx,
				s,
				"ObjectsLeft",
				fmt.Sprintf(
					"deletionPolicy is Retain and %s; delete them, or set spec.deletionPolicy to Delete",
					summarize(left),
				),
			)
		}
	}
	if s.Spec.DeletionPolicy == v1alpha1.DeletionDelete && c.config.Set.Has(s.Name) {
		c.tellLeaks(ctx, s)
	}
	// From here on the space answers 404, so that nothing new comes in.
	c.config.Set.remove(s.Name)
	if err := c.empty(ctx, s.Name, c.progress(ctx, s)); err != nil {
		return 0, err
	}
	s.Finalizers = slices.DeleteFunc(s.Finalizers, func(f string) bool { return f == finalizer })
	if err := c.update(ctx, s, ""); err != nil {
		return 0, err
	}
	c.config.Log.Info("space is deleted", "space", s.Name)
	return 0, nil
}

// progressPause is how often a deletion that takes long says how much is left.
const progressPause = 2 * time.Second

// progress says in the status how many objects of a space that is being deleted are left. That it
// cannot be said stops nothing.
func (c *Controller) progress(ctx context.Context, s *v1alpha1.Space) func(left int) {
	last := time.Now()
	return func(left int) {
		if left == 0 || time.Since(last) < progressPause {
			return
		}
		last = time.Now()
		c.setCondition(
			s,
			v1alpha1.ConditionDeleting,
			metav1.ConditionTrue,
			"Removing",
			fmt.Sprintf("%d objects are left to delete", left),
		)
		if err := c.update(ctx, s, "status"); err != nil && ctx.Err() == nil {
			c.config.Log.Debug("progress of a deletion is not shown", "space", s.Name, "err", err)
		}
	}
}

// empty purges until nothing is left: a request that was in flight when the space left the set may
// still have written.
func (c *Controller) empty(ctx context.Context, space string, progress func(left int)) error {
	for {
		if err := c.config.Content.Purge(ctx, space, progress); err != nil {
			return err
		}
		keys, err := c.config.Content.Keys(ctx, space)
		if err != nil || len(keys) == 0 {
			return err
		}
	}
}

// refuse says why a Space does not go yet.
func (c *Controller) refuse(ctx context.Context, s *v1alpha1.Space, reason, message string) error {
	before := s.DeepCopy()
	c.setCondition(s, v1alpha1.ConditionDeleting, metav1.ConditionFalse, reason, message)
	if slices.Equal(before.Status.Conditions, s.Status.Conditions) {
		return nil
	}
	return c.update(ctx, s, "status")
}

// usersOwn leaves out what is in a space without anybody having put it there.
func usersOwn(keys []store.Key) []store.Key {
	var out []store.Key
	for _, k := range keys {
		if k.Namespace == v1alpha1.UsersNamespace { // accounts of people, which go with the space
			continue
		}
		if v1alpha1.IsOfSystem(k.Group, k.Resource, k.Namespace, k.Name) {
			continue
		}
		switch k.Resource {
		case "events", "leases":
			continue
		case "deletions", "bindings": // what the center notes of deletions that were asked for, and decides
			if k.Group == v1alpha1.GroupVersion.Group {
				continue
			}
		case "placements": // what the center keeps for Placements of root
			if k.Group == v1alpha1.GroupVersion.Group && v1alpha1.IsPolicy(k.Name) {
				continue
			}
		case "namespaces":
			if k.Group == "" && (k.Name == v1alpha1.UsersNamespace || slices.Contains(bootstrapNamespaces, k.Name)) {
				continue
			}
		case "serviceaccounts":
			if k.Group == "" && k.Name == "default" {
				continue
			}
		case "configmaps":
			if k.Group == "" && k.Name == "kube-root-ca.crt" {
				continue
			}
		}
		out = append(out, k)
	}
	return out
}

// maxNamed is how many objects a refusal names.
const maxNamed = 5

func summarize(left []store.Key) string {
	names := make([]string, 0, maxNamed)
	for _, k := range left[:min(len(left), maxNamed)] {
		name := k.Name
		if k.Namespace != "" {
			name = k.Namespace + "/" + name
		}
		names = append(names, k.Resource+" "+name)
	}
	if len(left) > maxNamed {
		return fmt.Sprintf(
			"%d objects are left: %s and %d more",
			len(left),
			strings.Join(names, ", "),
			len(left)-maxNamed,
		)
	}
	return fmt.Sprintf("%d objects are left: %s", len(left), strings.Join(names, ", "))
}

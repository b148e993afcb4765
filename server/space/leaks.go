package space

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// A space that is deleted with all that is in it waits for no finalizer. What controllers would have cleaned up
// outside of the space stays: the log has all of it, and an Event about the Space the first.

// leak is an object that is deleted without what its finalizers stand for.
type leak struct {
	resource, namespace, name string
	finalizers                []string
}

func (l leak) String() string {
	name := l.name
	if l.namespace != "" {
		name = l.namespace + "/" + name
	}
	return l.resource + " " + name + " (" + strings.Join(l.finalizers, ", ") + ")"
}

// leaks lists the objects of a space whose finalizers others than the center have to take off. What cannot be
// listed is in the error.
func (c *Controller) leaks(ctx context.Context, space string) (out []leak, err error) {
	config := c.config.Loopback(space)
	known, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	lists, unknown := known.ServerPreferredResources() // what it does return is right
	failed := []error{unknown}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "delete") {
				of := version.WithResource(r.Name)
				failed = append(failed, eachOf(ctx, meta, of, func(o *metav1.PartialObjectMetadata) {
					if left := foreign(o.Finalizers); len(left) > 0 {
						out = append(out, leak{of.GroupResource().String(), o.Namespace, o.Name, left})
					}
				}))
			}
		}
	}
	return out, errors.Join(failed...)
}

// leakPage is how many objects are listed at a time.
const leakPage = 500

// eachOf visits the objects of a resource.
func eachOf(
	ctx context.Context,
	api metadata.Interface,
	of schema.GroupVersionResource,
	visit func(*metav1.PartialObjectMetadata),
) error {
	options := metav1.ListOptions{Limit: leakPage}
	for {
		page, err := api.Resource(of).List(ctx, options)
		if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
			return nil // it has just gone, or is none that can be listed
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", of.GroupResource(), err)
		}
		for i := range page.Items {
			visit(&page.Items[i])
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return nil
		}
	}
}

// foreign are the finalizers that stand for something outside of the space: not those of the garbage collector, of
// protection within the space, nor of this center.
func foreign(finalizers []string) (out []string) {
	for _, f := range finalizers {
		switch {
		case f == metav1.FinalizerOrphanDependents, f == metav1.FinalizerDeleteDependents,
			strings.HasPrefix(f, v1alpha1.GroupVersion.Group+"/"), f == string(corev1.FinalizerKubernetes),
			strings.HasPrefix(f, "kubernetes.io/"), strings.HasSuffix(f, ".apiextensions.k8s.io"),
			f == "batch.kubernetes.io/job-tracking":
		default:
			out = append(out, f)
		}
	}
	return out
}

// tellLeaks says what the deletion of a space leaves behind. That it cannot be said stops nothing.
func (c *Controller) tellLeaks(ctx context.Context, s *v1alpha1.Space) {
	left, err := c.leaks(ctx, s.Name)
	if err != nil && ctx.Err() == nil {
		c.config.Log.Warn("not all of a space that is deleted could be looked at for finalizers", "space", s.Name, "err", err)
	}
	if len(left) == 0 {
		return
	}
	for _, l := range left {
		c.config.Log.Warn("an object is deleted with its space, without its finalizers", "space", s.Name,
			"object", l.String())
	}
	now := metav1.NewTime(time.Now())
	event := &corev1.Event{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: s.Name + ".", Namespace: metav1.NamespaceDefault},
		InvolvedObject: corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Space", Name: s.Name,
			UID: s.UID},
		Reason: "FinalizersSkipped", Message: leaksText(left), Type: corev1.EventTypeWarning, Count: 1,
		FirstTimestamp: now, LastTimestamp: now, Source: corev1.EventSource{Component: "skerry"},
	}
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(event)
	if err == nil {
		_, err = c.client.Resource(corev1.SchemeGroupVersion.WithResource("events")).Namespace(metav1.NamespaceDefault).
			Create(ctx, &unstructured.Unstructured{Object: o}, metav1.CreateOptions{})
	}
	if err != nil && ctx.Err() == nil {
		c.config.Log.Warn("what a deletion leaves behind is in the log alone", "space", s.Name, "err", err)
	}
}

// maxEventText is how long the message of an Event may be, in bytes.
const maxEventText = 1000

// leaksText names as many as an Event has room for.
func leaksText(left []leak) string {
	what := "one object was"
	if len(left) > 1 {
		what = fmt.Sprintf("%d objects were", len(left))
	}
	text := what + " deleted without waiting for finalizers; what their controllers would have cleaned up outside " +
		"of the space stays: "
	for i, l := range left {
		rest := fmt.Sprintf("and %d more, which the center's log names", len(left)-i)
		if next := l.String(); len(text)+len(next)+len(", ")+len(rest) <= maxEventText {
			if text += next; i < len(left)-1 {
				text += ", "
			}
			continue
		}
		return text + rest
	}
	return text
}

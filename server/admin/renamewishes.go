package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// wish is what names a site: the label of a Namespace or of an object, or a Placement.
type wish struct {
	space           string
	api             dynamic.Interface
	kind            schema.GroupVersionResource
	namespace, name string
	manager         string // who applies it from a source of their own; empty for nobody
	byLabel         bool
	problem         string // why it could not be changed
}

// copyPrefix begins the names of the copies that the center keeps of Placements of root.
const copyPrefix = v1alpha1.RootSpace + "."

// namedIn finds what names a site, in all spaces.
func (c *center) namedIn(ctx context.Context, o RenameOptions) (found []*wish, err error) {
	list, err := c.listAll(ctx, spaces, selection{})
	if err != nil {
		return nil, err
	}
	names := []string{v1alpha1.RootSpace}
	for i := range list.Items {
		if name := list.Items[i].GetName(); name != v1alpha1.RootSpace {
			names = append(names, name)
		}
	}
	for _, name := range names {
		o.Progress.Step("looking for what names %s in space %s", o.From, name)
		inSpace, err := c.namedInSpace(ctx, name, o.From)
		if err != nil {
			return nil, fmt.Errorf("read space %s: %w", name, err)
		}
		found = append(found, inSpace...)
	}
	return found, nil
}

func (c *center) namedInSpace(ctx context.Context, space, site string) (found []*wish, err error) {
	api, err := c.space(space)
	if err != nil {
		return nil, err
	}
	visit := func(kind schema.GroupVersionResource, labels string, names func(*unstructured.Unstructured) bool) error {
		options := metav1.ListOptions{Limit: page, LabelSelector: labels}
		for {
			list, err := api.Resource(kind).List(ctx, options)
			if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
				return nil
			} else if err != nil {
				return fmt.Errorf("list %s: %w", kind.Resource, err)
			}
			for i := range list.Items {
				if u := &list.Items[i]; names(u) {
					found = append(found, &wish{
						space: space, api: api, kind: kind, namespace: u.GetNamespace(), name: u.GetName(), manager: applier(u),
						byLabel: labels != "",
					})
				}
			}
			if options.Continue = list.GetContinue(); options.Continue == "" {
				return nil
			}
		}
	}
	if space != v1alpha1.RootSpace {
		label := v1alpha1.LabelTarget + "=" + site
		for _, kind := range api.kinds {
			err := visit(kind.GroupVersionResource, label, func(u *unstructured.Unstructured) bool {
				return metav1.GetControllerOf(u) == nil // else its controller says
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return found, visit(placements, "", func(u *unstructured.Unstructured) bool {
		names, _, _ := unstructured.NestedStringSlice(u.Object, "spec", "targets", "names")
		return slices.Contains(names, site) && !strings.HasPrefix(u.GetName(), copyPrefix)
	})
}

// applier is who has applied an object from a source of their own, to which they will set it back.
func applier(u *unstructured.Unstructured) string {
	for _, f := range u.GetManagedFields() {
		if f.Operation == metav1.ManagedFieldsOperationApply {
			return f.Manager
		}
	}
	if u.GetAnnotations()[corev1.LastAppliedConfigAnnotation] != "" {
		return "kubectl"
	}
	return ""
}

// renameWishes changes what names the old name. What cannot be changed says why, and the others go on.
func (c *center) renameWishes(ctx context.Context, o RenameOptions, found []*wish) error {
	for i, w := range found {
		o.Progress.Count("wishes changed", i, len(found))
		if err := w.rename(ctx, o.From, o.To); err != nil {
			w.problem = err.Error()
		}
	}
	o.Progress.Done()
	return nil
}

func (w *wish) rename(ctx context.Context, from, to string) error {
	var client dynamic.ResourceInterface = w.api.Resource(w.kind)
	if w.namespace != "" {
		client = w.api.Resource(w.kind).Namespace(w.namespace)
	}
	for range attempts {
		u, err := client.Get(ctx, w.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil // it wishes nothing any more
		} else if err != nil {
			return err
		}
		meta := map[string]any{"uid": u.GetUID(), "resourceVersion": u.GetResourceVersion()}
		change := map[string]any{"metadata": meta}
		if w.byLabel {
			if u.GetLabels()[v1alpha1.LabelTarget] != from {
				return nil
			}
			meta["labels"] = map[string]any{v1alpha1.LabelTarget: to}
		} else {
			names, _, _ := unstructured.NestedStringSlice(u.Object, "spec", "targets", "names")
			at := slices.Index(names, from)
			if at < 0 {
				return nil
			}
			names[at] = to
			change["spec"] = map[string]any{"targets": map[string]any{"names": names}}
		}
		patch, err := json.Marshal(change)
		if err != nil {
			return err
		}
		_, err = client.Patch(ctx, w.name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "skerry-cli"})
		if err == nil || !apierrors.IsConflict(err) {
			return err
		}
	}
	return fmt.Errorf("it was changed by others again and again; change it by hand")
}

// printWishes says what named the site, and what is to be done about it.
func printWishes(o RenameOptions, found []*wish) error {
	if len(found) == 0 {
		_, err := fmt.Fprintf(o.Out, "No label and no Placement names %s.\n", o.From)
		return err
	}
	verdict := "now names " + o.To
	switch {
	case o.DryRun && !o.KeepWishes:
		verdict = "will name " + o.To
	case o.KeepWishes:
		verdict = "still names " + o.From + ": nothing moves, and nothing new of it is placed"
	}
	w := tabwriter.NewWriter(o.Out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(w, "SPACE\tOBJECT\tFIELD\tRESULT")
	for _, f := range found {
		object, field, result := f.kind.Resource+"/"+f.name, "spec.targets.names", verdict
		if f.namespace != "" {
			object = f.namespace + "/" + object
		}
		if f.byLabel {
			field = "label " + v1alpha1.LabelTarget
		}
		switch {
		case f.problem != "":
			result = "still names " + o.From + ": " + f.problem
		case f.manager != "":
			result += "; applied by " + f.manager + ": change its source, too"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", f.space, object, field, result)
	}
	return w.Flush()
}

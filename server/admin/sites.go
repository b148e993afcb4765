package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/server/admin/fleet"
	"skerry.dev/skerry/server/api/v1alpha1"
)

// page is how many objects are asked for at once.
const page = 500

// selection is which objects of a kind are asked for: the one of a name, or those of a label selector;
// all, if both are empty.
type selection struct{ name, labels string }

// options ask for the selected objects.
func (s selection) options() metav1.ListOptions {
	o := metav1.ListOptions{LabelSelector: s.labels}
	if s.name != "" {
		o.FieldSelector = fields.OneTermEqualSelector("metadata.name", s.name).String()
	}
	return o
}

// pages asks for the selected objects of a kind, page by page. A list that became too old
// between two pages is begun again: then first is true once more.
func (c *center) pages(
	ctx context.Context,
	kind schema.GroupVersionResource,
	of selection,
	take func(list *unstructured.UnstructuredList, first bool) error,
) error {
	options := of.options()
	options.Limit = page
	for tries := 0; ; {
		list, err := c.root.Resource(kind).List(ctx, options)
		switch {
		case apierrors.IsResourceExpired(err) && options.Continue != "" && tries < attempts:
			options.Continue = ""
			tries++
			continue
		case apierrors.IsNotFound(err):
			return fmt.Errorf("%s is no Skerry center: it does not serve %s; "+
				"give --kubeconfig the file of a center",
				c.url.Host, kind.GroupResource())
		case err != nil:
			return fmt.Errorf("list %s: %w", kind.Resource, err)
		}
		if err := take(list, options.Continue == ""); err != nil {
			return err
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// listAll lists the selected objects of a kind, sorted by name.
func (c *center) listAll(
	ctx context.Context,
	kind schema.GroupVersionResource,
	of selection,
) (all *unstructured.UnstructuredList, err error) {
	err = c.pages(ctx, kind, of, func(list *unstructured.UnstructuredList, first bool) error {
		if first {
			all = list
		} else {
			all.Items = append(all.Items, list.Items...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	all.SetContinue("")
	all.SetRemainingItemCount(nil)
	slices.SortFunc(all.Items, func(a, b unstructured.Unstructured) int {
		return strings.Compare(a.GetName(), b.GetName())
	})
	return all, nil
}

// sites lists the selected SyncTargets, sorted by name, and the revision of the list.
func (c *center) sites(
	ctx context.Context,
	of selection,
) (out []v1alpha1.SyncTarget, revision string, err error) {
	err = c.pages(ctx, syncTargets, of,
		func(list *unstructured.UnstructuredList, first bool) error {
			if revision = list.GetResourceVersion(); first {
				out = nil
			}
			for i := range list.Items {
				var t v1alpha1.SyncTarget
				if err := siteOf(&list.Items[i], &t); err != nil {
					return err
				}
				out = append(out, t)
			}
			return nil
		})
	slices.SortFunc(out, func(a, b v1alpha1.SyncTarget) int { return strings.Compare(a.Name, b.Name) })
	return out, revision, err
}

func siteOf(from *unstructured.Unstructured, to *v1alpha1.SyncTarget) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, to); err != nil {
		return fmt.Errorf("read site %s: %w", from.GetName(), err)
	}
	to.ManagedFields = nil // half of its size, and nobody is shown them
	return nil
}

// wrong is what is wrong at the center itself and, where asked, with its spaces.
func (c *center) wrong(ctx context.Context, clock fleet.Clock, spacesToo bool) (out []fleet.Problem, err error) {
	if checks := notReady(ctx, c.config); checks != "" {
		out = append(out, fleet.CenterNotReady(checks))
	}
	unknown, err := c.unknownAgents(ctx)
	if err != nil {
		return nil, err
	}
	if len(unknown) > 0 {
		out = append(out, clock.UnknownAgents(unknown))
	}
	if !spacesToo {
		return out, nil
	}
	list, err := c.listAll(ctx, spaces, selection{})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		var s v1alpha1.Space
		err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &s)
		if err != nil {
			return nil, fmt.Errorf("read space %s: %w", list.Items[i].GetName(), err)
		}
		out = append(out, fleet.SpaceProblems(&s)...)
	}
	return out, nil
}

// unknownAgents are the agents that dial and that the center does not know.
func (c *center) unknownAgents(ctx context.Context) (agents []v1alpha1.UnknownAgent, err error) {
	m, err := c.root.Resource(configMaps).Namespace(v1alpha1.AuthoritiesNamespace).Get(ctx,
		v1alpha1.UnknownAgentsName,
		metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read which agents are not known: %w", err)
	}
	text, _, _ := unstructured.NestedString(m.Object, "data", v1alpha1.UnknownAgentsKey)
	if err := json.Unmarshal([]byte(text), &agents); err != nil {
		return nil, fmt.Errorf("read which agents are not known: configmap %s: %w",
			v1alpha1.UnknownAgentsName, err)
	}
	return agents, nil
}

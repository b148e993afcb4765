package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/tunnel/variant"
)

// clusterProfiles say of the sites that a space may use what its users may know.
var clusterProfiles = schema.GroupVersionResource{
	Group: v1alpha1.FleetGroup, Version: v1alpha1.FleetVersion, Resource: v1alpha1.ClusterProfiles}

// renderedSite is a site that an object is rendered for.
type renderedSite struct {
	variant.Values
	relay bool
}

// noMoreSaid is what a user of a space is told who may not read what is needed.
const noMoreSaid = "this needs the role view in the whole space, which its admin gives with: " +
	"skerry space kubeconfig %s --user NAME --role view"

// unknownToRoot reports whether an error is that of a user whom root gives no rights: with the kubeconfig of a
// space root does not even know him.
func unknownToRoot(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
}

// valuesOf reads the values of a site: from its SyncTarget, or for a user of a space, who may not read that, from its
// ClusterProfile, which has its labels alone.
func (r *rendering) valuesOf(ctx context.Context, c *center, o RenderOptions) (variant.Values, error) {
	given := len(o.Labels)+len(o.Properties) > 0
	st, err := c.root.Resource(syncTargets).Get(ctx, o.Target, metav1.GetOptions{})
	switch {
	case err == nil:
		return customize.Values(st.Object), nil
	case apierrors.IsNotFound(err) && given:
		return variant.Values{Name: o.Target}, nil
	case apierrors.IsNotFound(err):
		return variant.Values{}, fmt.Errorf("there is no site %q; see them with: skerry target list", o.Target)
	case !unknownToRoot(err):
		return variant.Values{}, fmt.Errorf("read SyncTarget %s: %w", o.Target, err)
	}
	profile, err := r.client.Resource(clusterProfiles).Namespace(metav1.NamespaceDefault).
		Get(ctx, o.Target, metav1.GetOptions{})
	switch {
	case err == nil:
		r.sayProperties(o.Err, o.Properties)
		return profileValues(profile).Values, nil
	case given && (apierrors.IsNotFound(err) || apierrors.IsForbidden(err)):
		return variant.Values{Name: o.Target}, nil
	case apierrors.IsNotFound(err):
		return variant.Values{}, fmt.Errorf("space %s has no site %q; see those that it may use with: "+
			"kubectl get clusterprofiles -n %s", o.Space, o.Target, metav1.NamespaceDefault)
	case apierrors.IsForbidden(err):
		return variant.Values{}, fmt.Errorf("read the labels of site %s: %w; "+
			"say them yourself with --label and --property, or: "+noMoreSaid, o.Target, err, o.Space)
	}
	return variant.Values{}, fmt.Errorf("read the ClusterProfile of %s: %w", o.Target, err)
}

// sites are all sites that an object may be rendered for, as valuesOf reads one.
func (r *rendering) sites(ctx context.Context, c *center, o RenderOptions) ([]renderedSite, error) {
	var out []renderedSite
	targets, err := c.listAll(ctx, syncTargets, selection{})
	switch {
	case err == nil:
		for i := range targets.Items {
			t := &targets.Items[i]
			relay, _, _ := unstructured.NestedBool(t.Object, "status", "relay")
			out = append(out, renderedSite{customize.Values(t.Object), relay})
		}
		return out, nil
	case !unknownToRoot(err):
		return nil, err
	}
	profiles, err := r.client.Resource(clusterProfiles).Namespace(metav1.NamespaceDefault).
		List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("list the sites of space %s: %w; "+noMoreSaid, o.Space, err, o.Space)
	} else if err != nil {
		return nil, fmt.Errorf("list the sites of space %s: %w", o.Space, err)
	}
	r.sayProperties(o.Err, nil)
	for i := range profiles.Items {
		out = append(out, profileValues(&profiles.Items[i]))
	}
	return out, nil
}

// sayProperties says that values are missing which a Customizer may use.
func (r *rendering) sayProperties(out io.Writer, given map[string]string) {
	if r.asksProperties && len(given) == 0 {
		fmt.Fprintln(out, "Note: a Customizer of the space uses properties of sites, which users of a space may not read; "+
			"without --property KEY=VALUE the site is shown as one that has none")
	}
}

func profileValues(profile *unstructured.Unstructured) renderedSite {
	out := renderedSite{Values: variant.Values{Name: profile.GetName(), Labels: profile.GetLabels(),
		Properties: map[string]string{}}}
	delete(out.Labels, "x-k8s.io/cluster-manager") // of the profile, not of the site
	for p := range fields.Maps(fields.Map(profile.Object, "status"), "properties") {
		if p["name"] == v1alpha1.GroupVersion.Group+"/relay" {
			out.relay = p["value"] == "true"
		}
	}
	return out
}

// asksProperties reports whether a Customizer looks at properties of sites.
func asksProperties(customizer map[string]any) bool {
	spec, err := json.Marshal(customizer["spec"])
	return err == nil && bytes.Contains(spec, []byte("properties"))
}

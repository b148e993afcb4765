package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/customize"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/variant"
)

// RenderOptions configure Render. Resource and Name are required, and one of Target, AllTargets,
// Labels and Properties.
type RenderOptions struct {
	Kubeconfig string
	// Space of the object; empty is that of the kubeconfig's server.
	Space, Namespace string
	// Resource as kubectl takes it ("deployment", "deploy", "ingresses.networking.k8s.io").
	Resource, Name string
	// Target is a SyncTarget. Labels and Properties are set on top of its own; with them alone the
	// target need not exist.
	Target     string
	Labels     map[string]string
	Properties map[string]string
	AllTargets bool
	// Newest shows what the target gets with the newest release, where it has an older one.
	Newest bool
	// Diff prints the changes instead of the variant.
	Diff bool
	// Output is yaml (the default) or json.
	Output string
	// Out is for the variant, Err for what is said beside it.
	Out, Err io.Writer
}

// rendering is an object, and what changes it.
type rendering struct {
	object variant.Object
	set    *variant.Set
	// asksProperties is true where a Customizer of the space looks at properties of sites.
	asksProperties bool
	asked
	on     []string                  // its targets by name, where the object says them
	api    dynamic.ResourceInterface // of its kind, in its space and namespace
	client dynamic.Interface         // of its space
}

// Render prints what a target gets of an object as it is now, by the code that renders it there; of a target
// that has an older release of it, what that makes of it, unless Newest is set. The center checks
// it by the schema of its kind; what its target would refuse is an ErrProblems.
func Render(ctx context.Context, o RenderOptions) error {
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	r, err := c.rendering(ctx, &o)
	if err != nil {
		return err
	}
	if o.AllTargets {
		return c.renderAll(ctx, o, r)
	}
	values := variant.Values{Name: o.Target}
	if o.Target != "" {
		if values, err = r.valuesOf(ctx, c, o); err != nil {
			return err
		}
	}
	values.Name = cmp.Or(values.Name, "target") // in lower case, as every name is
	values.Labels = overlaid(values.Labels, o.Labels)
	values.Properties = overlaid(values.Properties, o.Properties)
	older := []byte(nil)
	if !o.Newest {
		if older, err = r.released(ctx, values.Name); err != nil {
			return err
		}
	}
	if older != nil {
		r.object.Body = older
	}
	base, err := r.at(values.Name)
	if err != nil {
		return err
	}
	out, err := r.set.Explain(base, values)
	if err != nil {
		return fmt.Errorf("%s gets no new version of it and keeps the one that it has: %w", values.Name, err)
	}
	if err := printVariant(o, out); err != nil {
		return err
	}
	switch why := r.later(values.Name); {
	case older != nil:
		fmt.Fprintf(o.Err, "Note: %s has it as of release %d; --newest shows what it gets with a later one\n", values.Name,
			r.releases[values.Name])
	case why != "":
		fmt.Fprintf(o.Err, "Note: %s %s; see: skerry rollout status\n", values.Name, why)
	}
	if len(out.By) == 0 {
		return nil
	}
	return r.refused(ctx, o, values.Name, out.Body)
}

func printVariant(o RenderOptions, v variant.Result) error {
	if o.Diff {
		return printChanges(o.Out, v.Changes)
	}
	if o.Output == "json" {
		var body any
		if err := json.Unmarshal(v.Body, &body); err != nil {
			return err
		}
		return printData(o.Out, "json", body, nil)
	}
	text, err := yaml.JSONToYAML(v.Body)
	if err == nil {
		_, err = o.Out.Write(text)
	}
	return err
}

// spaceOfContext is the space that the kubeconfig's current context points at; empty for root.
func (c *center) spaceOfContext() string {
	current := c.file.Contexts[c.file.CurrentContext]
	if current == nil || c.file.Clusters[current.Cluster] == nil {
		return ""
	}
	if says, ours := ourContext(c.file); ours {
		return says.Space
	}
	_, rest, _ := strings.Cut(c.file.Clusters[current.Cluster].Server, "/clusters/")
	space, _, _ := strings.Cut(rest, "/")
	return space
}

// namespaceOfContext is the namespace of the kubeconfig's current context, empty where it has none.
func (c *center) namespaceOfContext() string {
	if current := c.file.Contexts[c.file.CurrentContext]; current != nil {
		return current.Namespace
	}
	return ""
}

func overlaid(have, more map[string]string) map[string]string {
	if have == nil {
		have = map[string]string{}
	}
	for k, v := range more {
		have[k] = v
	}
	return have
}

// rendering reads an object and the Customizers of its space.
func (c *center) rendering(ctx context.Context, o *RenderOptions) (*rendering, error) {
	config := rest.CopyConfig(c.config)
	if o.Space == "" {
		o.Space = c.spaceOfContext()
	}
	if o.Space == "" || o.Space == v1alpha1.RootSpace {
		return nil, Usage("objects of root go nowhere: name the space with --space; see: skerry render --help")
	}
	if err := c.mustExist(ctx, o.Space); err != nil {
		return nil, err
	}
	config.Host = c.spaceURL(o.Space)
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClient(d)
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
	gvr, namespaced, err := resolve(mapper, o.Resource)
	if meta.IsNoMatchError(err) {
		return nil, noKind(o.Resource)
	} else if err != nil {
		return nil, fmt.Errorf("find the resource %s in space %s: %w", o.Resource, o.Space, err)
	}
	api := dynamic.ResourceInterface(client.Resource(gvr))
	k := store.Key{Space: o.Space, Group: gvr.Group, Resource: gvr.Resource, Name: o.Name}
	if namespaced {
		k.Namespace = cmp.Or(o.Namespace, c.namespaceOfContext(), "default")
		api = client.Resource(gvr).Namespace(k.Namespace)
	}
	obj, err := api.Get(ctx, o.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, notThere(o.Resource, o.Name, o.Space, k.Namespace)
	} else if err != nil {
		return nil, fmt.Errorf("read %s: %w", k, err)
	}
	body, err := customize.Render(obj.Object, customize.Origin{Space: o.Space, UID: string(obj.GetUID())})
	if err != nil {
		return nil, err
	}
	out := &rendering{object: variant.Object{Key: k, Body: body}, on: targetsOf(obj), api: api, client: client}
	if k.Namespace != "" {
		labels, err := labelsOfNamespace(ctx, client, k.Namespace)
		if err != nil {
			return nil, err
		}
		out.object.NamespaceLabels = func() map[string]string { return labels }
	}
	if out.asked, err = reviewed(ctx, client, k); err != nil {
		return nil, err
	}
	err = out.readCustomizers(ctx, o.Space)
	return out, err
}

// resolve finds what a user calls a resource.
func resolve(mapper meta.RESTMapper, name string) (gvr schema.GroupVersionResource, namespaced bool, err error) {
	full, group := schema.ParseResourceArg(name)
	if full != nil {
		gvr, err = mapper.ResourceFor(*full)
	}
	if full == nil || err != nil {
		gvr, err = mapper.ResourceFor(group.WithVersion(""))
	}
	if err != nil {
		return gvr, false, err
	}
	gvk, err := mapper.KindFor(gvr)
	if err != nil {
		return gvr, false, err
	}
	m, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return gvr, false, err
	}
	return m.Resource, m.Scope.Name() == meta.RESTScopeNameNamespace, nil
}

func labelsOfNamespace(ctx context.Context, client dynamic.Interface, name string) (map[string]string, error) {
	ns, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).
		Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read Namespace %s: %w", name, err)
	}
	return ns.GetLabels(), nil
}

// readCustomizers reads the Customizers of the space.
func (r *rendering) readCustomizers(ctx context.Context, space string) error {
	list, err := r.client.Resource(v1alpha1.GroupVersion.WithResource(store.RulesResource)).
		List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("list Customizers: %w; "+noMoreSaid, err, space)
	} else if err != nil {
		return fmt.Errorf("list Customizers: %w", err)
	}
	var all []*variant.Customizer
	for _, item := range list.Items {
		body, err := json.Marshal(item.Object)
		if err != nil {
			return err
		}
		read, problems := variant.Parse(body)
		if len(problems) > 0 {
			return fmt.Errorf("understand Customizer %s: %w", item.GetName(), problems[0])
		}
		r.asksProperties = r.asksProperties || asksProperties(item.Object)
		all = append(all, read)
	}
	r.set = variant.NewSet(all...)
	return nil
}

func printChanges(out io.Writer, changes []variant.Change) error {
	w := tabwriter.NewWriter(out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(w, "FIELD\tIN THE SPACE\tAT THE TARGET\tCUSTOMIZER")
	for _, c := range changes {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.Path, cmp.Or(c.Was, "-"), cmp.Or(c.Is, "-"), c.Customizer)
	}
	return w.Flush()
}

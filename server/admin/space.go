package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"text/tabwriter"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/validation"

	"skerry.dev/skerry/server/api/v1alpha1"
)

var (
	spaces      = v1alpha1.GroupVersion.WithResource("spaces")
	syncTargets = v1alpha1.GroupVersion.WithResource("synctargets")
)

// CreateSpaceOptions say what space to create.
type CreateSpaceOptions struct {
	Kubeconfig string
	Name       string
	// Count is how many targets a namespace goes to that nothing else places; 0 means nowhere.
	Count int
	// NamespacePrefix stands before the names of its namespaces at sites; empty leaves them as they
	// are.
	NamespacePrefix string
	// Wait is how long to wait until the space answers.
	Wait   time.Duration
	DryRun bool
	Output string // "", "name", "json" or "yaml"
	Out    io.Writer
}

// CreateSpace creates a Space and waits until it is ready.
func CreateSpace(ctx context.Context, o CreateSpaceOptions) error {
	if err := checkSpaceName(o.Name); err != nil {
		return err
	}
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	spec := map[string]any{}
	if o.Count > 0 {
		spec["defaultTargets"] = map[string]any{"count": int64(o.Count)}
	}
	if o.NamespacePrefix != "" {
		spec["namespaceMapping"] = map[string]any{"prefix": o.NamespacePrefix}
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": o.Name}, "spec": spec}}
	obj.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Space"))
	create := metav1.CreateOptions{FieldManager: "skerry-cli"}
	if o.DryRun {
		create.DryRun = []string{metav1.DryRunAll}
	}
	made, err := c.root.Resource(spaces).Create(ctx, obj, create)
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("space %q exists already; use it with: skerry space use %s", o.Name, o.Name)
	} else if err != nil {
		return fmt.Errorf("create space: %w", err)
	}
	if !o.DryRun {
		if made, err = c.waitReady(ctx, o.Name, o.Wait); err != nil {
			return err
		}
	}
	if o.Output != "" {
		return printObject(o.Out, o.Output, "space.skerry.dev/", made.Object)
	}
	suffix := ""
	if o.DryRun {
		suffix = " (dry run)"
	}
	fmt.Fprintf(o.Out, "space.skerry.dev/%s created%s\n", o.Name, suffix)
	if !o.DryRun {
		fmt.Fprintf(o.Out, "Its kube API: %s\nUse it:       skerry space use %s\n", c.spaceURL(o.Name), o.Name)
	}
	return nil
}

// checkSpaceName refuses names that the center would refuse, before anything is asked.
func checkSpaceName(name string) error {
	if len(validation.IsDNS1123Label(name)) > 0 {
		return Usage("space name %q: use lower-case letters, digits and '-', at most 63", name)
	}
	if name == v1alpha1.RootSpace {
		return Usage("space name %q: it is the admin's own space and always exists; use another name", name)
	}
	return nil
}

func (c *center) waitReady(ctx context.Context, name string, wait time.Duration) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		obj, err := c.root.Resource(spaces).Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			if status, _ := condition(obj.Object, v1alpha1.ConditionReady); status == "True" {
				return obj, nil
			}
		}
		select {
		case <-ctx.Done():
			_, message := condition(objectOf(obj), v1alpha1.ConditionReady)
			return nil, fmt.Errorf("space %q is created but not ready after %s: %s; see: kubectl describe space %s",
				name, wait, orElse(message, "no condition Ready yet"), name)
		case <-tick.C:
		}
	}
}

// ListOptions say how to list.
type ListOptions struct {
	Kubeconfig string
	Output     string // "", or one of listFormats
	Out        io.Writer
}

// ListSpaces prints the spaces; wide, also what they hold and what deleting them does.
func ListSpaces(ctx context.Context, o ListOptions) error {
	list, err := listRoot(ctx, o, spaces)
	if err != nil || list == nil {
		return err
	}
	w := tabwriter.NewWriter(o.Out, 0, 8, 3, ' ', 0)
	_, wide := isTable(o.Output)
	fmt.Fprint(w, "NAME\tREADY\tURL\tAGE")
	if wide {
		fmt.Fprint(w, "\tOBJECTS\tDELETION-POLICY")
	}
	fmt.Fprintln(w)
	for _, s := range list {
		ready, _ := condition(s.Object, v1alpha1.ConditionReady)
		u, _, _ := unstructured.NestedString(s.Object, "status", "url")
		fmt.Fprintf(w, "%s\t%s\t%s\t%s", s.GetName(), orElse(ready, "Unknown"), u, age(s.GetCreationTimestamp()))
		if wide {
			objects, policy := "-", ""
			if n, known, _ := unstructured.NestedInt64(s.Object, "status", "usage", "objects"); known {
				objects = fmt.Sprint(n)
			}
			policy, _, _ = unstructured.NestedString(s.Object, "spec", "deletionPolicy")
			fmt.Fprintf(w, "\t%s\t%s", objects, orElse(policy, string(v1alpha1.DeletionRetain)))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// listRoot lists a kind of root, sorted by name, or prints it and returns nil when the caller asked
// for json, yaml or names.
func listRoot(
	ctx context.Context,
	o ListOptions,
	kind schema.GroupVersionResource,
) ([]unstructured.Unstructured, error) {
	if err := checkListOutput(o.Output); err != nil {
		return nil, err
	}
	c, err := open(o.Kubeconfig)
	if err != nil {
		return nil, err
	}
	list, err := c.root.Resource(kind).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", kind.Resource, err)
	}
	sort.Slice(list.Items, func(i, j int) bool { return list.Items[i].GetName() < list.Items[j].GetName() })
	if table, _ := isTable(o.Output); table {
		return list.Items, nil
	}
	return nil, printData(o.Out, o.Output, list.UnstructuredContent(), func() (names []string) {
		for _, s := range list.Items {
			names = append(names, strings.TrimSuffix(kind.Resource, "s")+".skerry.dev/"+s.GetName())
		}
		return names
	})
}

// UseSpace adds a context for the space, or its view at a path of targets, to the caller's
// kubeconfig and makes it current.
func UseSpace(ctx context.Context, kubeconfig, name, at string, out io.Writer) error {
	if err := checkAt(at); err != nil {
		return err
	}
	c, err := open(kubeconfig)
	if err != nil {
		return err
	}
	if err := c.mustExist(ctx, name); err != nil {
		return err
	}
	if err := c.use(name, at); err != nil {
		return err
	}
	fmt.Fprintf(out, "Switched to space %q (context %q in %s).\n", name, contextAt(name, at), c.path)
	return nil
}

// hostURL is the URL of a space at its own host.
func (c *center) hostURL(ctx context.Context, name string) (string, error) {
	if name == v1alpha1.RootSpace {
		return "", errors.New("root has no host of its own; leave out --by-host")
	}
	space, err := c.root.Resource(spaces).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read space: %w", err)
	}
	at, _, _ := unstructured.NestedString(space.Object, "status", "hostURL")
	if at == "" {
		return "", fmt.Errorf(
			"space %q has no host of its own: start the center with --spaces-domain, or leave out --by-host",
			name,
		)
	}
	return at, nil
}

func (c *center) mustExist(ctx context.Context, name string) error {
	if name == v1alpha1.RootSpace {
		return nil
	}
	_, err := c.root.Resource(spaces).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return nil // a user of the space, whom root does not know: the space's own API answers
	}
	if apierrors.IsNotFound(err) {
		return fmt.Errorf(
			"there is no space %q; see them with: skerry space list; create it with: skerry space create %s",
			name,
			name,
		)
	}
	return err
}

// condition returns status and message of a condition, empty when the object has none of that type.
func condition(obj map[string]any, kind string) (status, message string) {
	list, _, _ := unstructured.NestedSlice(obj, "status", "conditions")
	for _, item := range list {
		if c, ok := item.(map[string]any); ok && c["type"] == kind {
			status, _ = c["status"].(string)
			message, _ = c["message"].(string)
			return status, message
		}
	}
	return "", ""
}

func objectOf(u *unstructured.Unstructured) map[string]any {
	if u == nil {
		return nil
	}
	return u.Object
}

func orElse(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

func age(t metav1.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(t.Time))
}

func printObject(w io.Writer, format, prefix string, obj map[string]any) error {
	switch format {
	case "name", "json", "yaml":
		name, _, _ := unstructured.NestedString(obj, "metadata", "name")
		return printData(w, format, obj, func() []string { return []string{prefix + name} })
	}
	return fmt.Errorf("unknown output format %q: use name, json or yaml", format)
}

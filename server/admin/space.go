package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
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
	// Reach is where the names of its Services answer, a v1alpha1.Reach; empty leaves it out.
	Reach string
	// ClusterSet is the set of spaces that it joins; empty joins none.
	ClusterSet string
	// Wait is how long to wait until the space answers.
	Wait   time.Duration
	DryRun bool
	Output string // "", "name", "json" or "yaml"
	Out    io.Writer
}

// CreateSpace creates a Space and waits until it is ready.
func CreateSpace(ctx context.Context, o CreateSpaceOptions) error {
	if err := errors.Join(checkSpaceName(o.Name), checkObjectOutput(o.Output)); err != nil {
		return err
	}
	if o.Count < 0 {
		return Usage("--default-targets %d: write a number from 0; see: skerry space create --help", o.Count)
	}
	switch v1alpha1.Reach(o.Reach) {
	case "", v1alpha1.ReachSpace, v1alpha1.ReachTarget:
	default:
		return Usage("--reach %s: write Space or Target; see: skerry space create --help", o.Reach)
	}
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	spec := map[string]any{}
	if o.Reach != "" {
		spec["services"] = map[string]any{"reach": o.Reach}
	}
	if o.ClusterSet != "" {
		spec["clusterSet"] = o.ClusterSet
	}
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
		return c.spaceExists(ctx, o.Name)
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
		fmt.Fprintf(o.Out, "Its kube API: %s\nUse it:       skerry space use %s\n", c.publicURL(o.Name), o.Name)
	}
	return nil
}

// spaceExists returns why a space cannot be created: one of its name exists, or has not gone yet.
func (c *center) spaceExists(ctx context.Context, name string) error {
	obj, err := c.root.Resource(spaces).Get(ctx, name, metav1.GetOptions{})
	if err != nil || obj.GetDeletionTimestamp() == nil {
		return fmt.Errorf("space %q exists already; use it with: skerry space use %s", name, name)
	}
	_, left := condition(obj.Object, v1alpha1.ConditionDeleting)
	return fmt.Errorf("space %q is still being deleted: %s; create it when it is gone, see: kubectl describe space %s",
		name, orElse(left, "its objects are going"), name)
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
	Selector   string // of labels, "" for all
	Out        io.Writer
}

// check refuses options that no list has.
func (o ListOptions) check() error {
	if _, err := labels.Parse(o.Selector); err != nil {
		return Usage("-l %q: %s; write a label selector, such as region=eu,tier!=edge", o.Selector, err)
	}
	return checkListOutput(o.Output)
}

// ListSpaces prints the spaces; wide, also what they hold and what deleting them does.
func ListSpaces(ctx context.Context, o ListOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	all, err := c.listAll(ctx, spaces, selection{labels: o.Selector})
	if err != nil {
		return err
	}
	if table, _ := isTable(o.Output); !table {
		return printData(o.Out, o.Output, all.UnstructuredContent(), func() (names []string) {
			for i := range all.Items {
				names = append(names, "space.skerry.dev/"+all.Items[i].GetName())
			}
			return names
		})
	}
	if len(all.Items) == 0 {
		text := "There is no space yet. Make one with: skerry space create NAME"
		if o.Selector != "" {
			text = fmt.Sprintf("No space has labels that match %q. All spaces: skerry space list", o.Selector)
		}
		_, err := fmt.Fprintln(o.Out, text)
		return err
	}
	w := tabwriter.NewWriter(o.Out, 0, 8, 3, ' ', 0)
	_, wide := isTable(o.Output)
	fmt.Fprint(w, "NAME\tREADY\tURL\tAGE")
	if wide {
		fmt.Fprint(w, "\tOBJECTS\tDELETION-POLICY")
	}
	fmt.Fprintln(w)
	for _, s := range all.Items {
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

// checkObjectOutput refuses an output that printObject does not know, before anything is changed.
func checkObjectOutput(output string) error {
	switch output {
	case "", "name", "json", "yaml":
		return nil
	}
	return Usage("-o %q: use name, json or yaml", output)
}

func printObject(w io.Writer, format, prefix string, obj map[string]any) error {
	switch format {
	case "name", "json", "yaml":
		name, _, _ := unstructured.NestedString(obj, "metadata", "name")
		return printData(w, format, obj, func() []string { return []string{prefix + name} })
	}
	return checkObjectOutput(format)
}

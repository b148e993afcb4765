package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"skerry.dev/skerry/server/admin/fleet"
	"skerry.dev/skerry/server/api/v1alpha1"
)

// ExplainOptions say which decision is explained.
type ExplainOptions struct {
	// Kubeconfig leads to the space, or with Space to the center; see readKubeconfig.
	Kubeconfig string
	// Space, and Namespace in it; empty means those of the current context.
	Space, Namespace string
	// Resource and Name are those of the object, Resource as kubectl takes it.
	Resource, Name string
	// Without are targets that are taken to be gone.
	Without []string
	// Output is table, json or yaml.
	Output string
	Out    io.Writer
}

// ExplainCommand is `skerry explain`.
func ExplainCommand() *cli.Command {
	return &cli.Command{
		Name:  "explain",
		Usage: "say why something is as it is",
		Subcommands: []*cli.Command{{
			Name: "placement",
			Usage: "why an object of a space is, or is not, on each target: deployment/web, or placement/NAME for " +
				"all that a Placement selects",
			ArgsUsage: "RESOURCE NAME",
			Flags: ClientFlags(
				&cli.StringFlag{Name: "space", Usage: "of the object (default: that of the current context)"},
				&cli.StringFlag{Name: "namespace", Aliases: []string{"n"},
					Usage: "of the object (default: that of the current context)"},
				&cli.StringSliceFlag{Name: "without", Usage: "TARGET: what would happen if it went away; " +
					"several times, or with commas, for several"},
				OutputFlag("table, json or yaml")),
			Action: func(c *cli.Context) error {
				resource, name, err := objectArgument(c)
				if err != nil {
					return err
				}
				return ExplainPlacement(c.Context, ExplainOptions{
					Kubeconfig: c.String("kubeconfig"), Space: c.String("space"), Namespace: c.String("namespace"),
					Resource: resource, Name: name, Without: c.StringSlice("without"), Output: c.String("output"), Out: c.App.Writer,
				})
			},
		}},
	}
}

// ExplainPlacement asks the center why an object is where it is, and prints the answer.
func ExplainPlacement(ctx context.Context, o ExplainOptions) error {
	if err := checkTableOutput(o.Output); err != nil {
		return err
	}
	config, namespace, err := spaceConfig(ctx, o.Kubeconfig, o.Space, o.Namespace)
	if err != nil {
		return err
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	review := &v1alpha1.PlacementReview{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "PlacementReview"},
		Spec:     v1alpha1.PlacementReviewSpec{Without: o.Without},
	}
	object, err := findResource(client, o.Resource)
	if err != nil {
		return err
	}
	if object.Group == v1alpha1.GroupVersion.Group && object.Name == "placements" {
		review.Spec.Placement = o.Name
	} else {
		review.Spec.Object = &v1alpha1.ReviewedObject{APIGroup: object.Group, Resource: object.Name, Name: o.Name}
		if object.Namespaced {
			review.Spec.Object.Namespace = namespace
		}
	}
	err = postReview(ctx, config, "placementreviews", review)
	if isAbout(err, o.Name) {
		if !object.Namespaced {
			namespace = ""
		}
		return notThere(o.Resource, o.Name, o.Space, namespace)
	}
	if apierrors.IsNotFound(err) && o.Space == "" {
		return fmt.Errorf("explain the placement of %s/%s: %w; objects are placed in spaces: is the current context "+
			"of a space? else give --space NAME", o.Resource, o.Name, err)
	}
	if err != nil {
		return fmt.Errorf("explain the placement of %s/%s: %w", o.Resource, o.Name, err)
	}
	if table, _ := isTable(o.Output); !table {
		return printData(o.Out, o.Output, review, nil)
	}
	return printReview(o.Out, review, time.Now())
}

// postReview has a space answer a question, and reads the answer into it.
func postReview(ctx context.Context, config *rest.Config, resource string, review any) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	question, err := json.Marshal(review)
	if err != nil {
		return err
	}
	result := client.RESTClient().Post().AbsPath("/apis", v1alpha1.GroupVersion.String(), resource).
		SetHeader("Content-Type", "application/json").Body(question).Do(ctx)
	if err := result.Error(); err != nil { // which has the Status of a refusal, and Raw has not
		return err
	}
	answer, err := result.Raw()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, review); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

// isAbout reports whether an error says that there is no object of a name.
func isAbout(err error, name string) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && apierrors.IsNotFound(err) && status.Status().Details != nil &&
		status.Status().Details.Name == name
}

// spaceConfig leads to a space, and returns the namespace that is meant; where a name is empty, to that of the current
// context of a kubeconfig.
func spaceConfig(ctx context.Context, kubeconfig, space, named string) (
	config *rest.Config, namespace string, err error,
) {
	file, path, err := readKubeconfig(kubeconfig)
	if err != nil {
		return nil, "", err
	}
	of := clientcmd.NewDefaultClientConfig(*file, nil)
	namespace = named
	if namespace == "" {
		if namespace, _, err = of.Namespace(); err != nil {
			return nil, "", unusable(file, path, err)
		}
	}
	c, err := openConfig(file, path)
	if err != nil {
		return nil, "", err
	}
	config = rest.CopyConfig(c.config)
	if space != "" {
		if err := c.mustExist(ctx, space); err != nil {
			return nil, "", err
		}
		config.Host = c.spaceURL(space)
		return config, namespace, nil
	}
	own, err := of.ClientConfig()
	if err != nil {
		return nil, "", unusable(file, path, err)
	}
	config.Host, _, _ = strings.Cut(own.Host, viewPath) // the view of a site is asked about its space
	return config, namespace, nil
}

// findResource finds the resource that a user names: by plural, singular, short name or kind, with
// .GROUP behind it where that is needed.
func findResource(client discovery.DiscoveryInterface, name string) (metav1.APIResource, error) {
	lists, err := client.ServerPreferredResources()
	if len(lists) == 0 && err != nil {
		return metav1.APIResource{}, fmt.Errorf("ask which kinds there are: %w", err)
	}
	name = strings.ToLower(name)
	for _, list := range lists {
		group, version, grouped := strings.Cut(list.GroupVersion, "/")
		if !grouped {
			group, version = "", list.GroupVersion
		}
		for _, r := range list.APIResources {
			for _, known := range append([]string{r.Name, r.SingularName, strings.ToLower(r.Kind)}, r.ShortNames...) {
				if known != "" && !strings.Contains(r.Name, "/") && (name == known || name == known+"."+group) {
					r.Group, r.Version = group, version
					return r, nil
				}
			}
		}
	}
	return metav1.APIResource{}, noKind(name)
}

func noKind(name string) error {
	return fmt.Errorf("the space serves no kind %q: kubectl api-resources lists those that it serves", name)
}

// notThere is the error for an object that a space does not have.
func notThere(resource, name, space, namespace string) error {
	where := ""
	if space != "" {
		where = " of space " + space
	}
	if namespace != "" {
		return fmt.Errorf("there is no %s %q in namespace %s%s; -n names another namespace", resource, name, namespace, where)
	}
	return fmt.Errorf("there is no %s %q%s; see what there is with: kubectl get %[1]s", resource, name,
		cmp.Or(where, " in this space"))
}

// printReview prints an answer for people.
func printReview(out io.Writer, r *v1alpha1.PlacementReview, now time.Time) error {
	var b strings.Builder
	s := &r.Status
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-11s %s\n", name, text)
		}
	}
	line("Decided by", policyText(s.DecidedBy))
	line("On", orNone(s.Decision))
	if s.Since != nil {
		line("Since", fmt.Sprintf("%s (%s)", s.Since.UTC().Format(time.RFC3339), now.Sub(s.Since.Time).Round(time.Second)))
	}
	switch {
	case len(r.Spec.Without) > 0 && len(s.Wanted) == 0 && s.Reason != "":
		line("Without "+strings.Join(r.Spec.Without, ","), "nothing else fits: what runs elsewhere stays")
	case len(r.Spec.Without) > 0:
		line("Without "+strings.Join(r.Spec.Without, ","), orNone(s.Wanted))
	case strings.Join(s.Wanted, ",") != strings.Join(s.Decision, ","):
		line("Wanted", orNone(s.Wanted))
	}
	line("Reason", strings.Trim(s.Reason+": "+s.Message, ": "))
	line("Waits for", s.WaitsFor)
	for _, d := range s.AlsoOpen {
		line("Also open", fmt.Sprintf("at %s until %s (%s), for callers from outside; to close it take off %s", d.Target,
			d.Until.UTC().Format(time.RFC3339), d.Until.Sub(now).Round(time.Second), v1alpha1.AnnotationOpenUntil))
	}
	b.WriteString("\n")
	w := tabwriter.NewWriter(&b, 0, 8, 3, ' ', 0)
	fmt.Fprintln(w, "TARGET\tIN USE\tCHOSEN\tSCORE\tWHY")
	for _, t := range s.Targets {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", t.Name, yesNo(t.InUse), yesNo(t.Chosen), t.Score/1000, whyText(t))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if s.Cut > 0 {
		fmt.Fprintf(&b, "and %d more targets\n", s.Cut)
	}
	if err := errors.Join(printCompanions(&b, "GOES ALONG", s.GoesAlong),
		printCompanions(&b, "STAYS BEHIND", s.StaysBehind)); err != nil {
		return err
	}
	_, err := io.WriteString(out, fleet.Printable(b.String()))
	return err
}

// printCompanions prints what goes along with an object, or stays behind; nothing where there is none.
func printCompanions(out io.Writer, title string, list []v1alpha1.ReviewedCompanion) error {
	if len(list) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 8, 3, ' ', 0)
	fmt.Fprintf(w, "\n%s\tBECAUSE\n", title)
	for _, c := range list {
		fmt.Fprintf(w, "%s/%s\t%s\n", c.Object.Resource, c.Object.Name, c.Because)
	}
	return w.Flush()
}

func policyText(p v1alpha1.ReviewedPolicy) string {
	text := map[string]string{
		"ObjectLabel":    "the label " + v1alpha1.LabelTarget + " of the object: " + p.Name,
		"NamespaceLabel": "the label " + v1alpha1.LabelTarget + " of its Namespace: " + p.Name,
		"Placement":      fmt.Sprintf("Placement %q with priority %d", p.Name, p.Priority),
		"DefaultTargets": "defaultTargets of the Space",
		"None":           "nothing: set the label " + v1alpha1.LabelTarget + ", or make a Placement",
	}[p.Kind]
	if len(p.Over) > 0 {
		text += "; not by Placement " + strings.Join(p.Over, ", ")
	}
	return text
}

func whyText(t v1alpha1.ReviewedTarget) string {
	var parts []string
	if t.Filter != "" {
		text := t.Filter + ": " + t.Message
		if t.Chosen {
			text += " (what is there stays)"
		}
		parts = append(parts, text)
	} else if t.Message != "" {
		parts = append(parts, t.Message)
	}
	if t.Replicas != nil {
		parts = append(parts, fmt.Sprintf("has %d of the replicas", *t.Replicas))
	}
	for _, field := range slices.Sorted(maps.Keys(t.Portion)) {
		parts = append(parts, fmt.Sprintf("has %s %d", field, t.Portion[field]))
	}
	if t.Release != 0 {
		parts = append(parts, fmt.Sprintf("has it as of release %d", t.Release))
	}
	if t.WaitsFor != "" {
		parts = append(parts, "waits: "+t.WaitsFor)
	}
	return strings.Join(parts, "; ")
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "no target"
	}
	return strings.Join(list, ", ")
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

package admin

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/admin/fleet"
	"skerry.dev/skerry/server/api/v1alpha1"
)

// TraceOptions say which call is traced.
type TraceOptions struct {
	// Kubeconfig leads to the space, or with Space to the center; see readKubeconfig.
	Kubeconfig string
	// Space, and Namespace in it; empty means those of the current context.
	Space, Namespace string
	// Service is NAME, or HOST.NAME for one Pod of a headless Service.
	Service string
	// Port by number or name; empty means the first TCP port.
	Port string
	// From is the site that calls, Pod the one in whose name, as NAME or NAMESPACE/NAME; empty means any.
	From, Pod string
	// Output is table, json or yaml.
	Output string
	Out    io.Writer
}

// TraceCommand is `skerry trace`.
func TraceCommand() *cli.Command {
	return &cli.Command{
		Name: "trace",
		Usage: "call a Service from a site as a Pod there would, and say what each place on the way decides; " +
			"HOST.SERVICE is one Pod of a headless Service",
		ArgsUsage: "SERVICE",
		Flags: ClientFlags(
			&cli.StringFlag{Name: "space", Usage: "of the Service (default: that of the current context)"},
			&cli.StringFlag{Name: "namespace", Aliases: []string{"n"},
				Usage: "of the Service (default: that of the current context)"},
			&cli.StringFlag{Name: "from", Usage: "TARGET that calls; RELAY/TARGET below a relay (required)"},
			&cli.StringFlag{Name: "port", Usage: "of the Service, by number or name (default: its first TCP port)"},
			&cli.StringFlag{Name: "pod", Usage: "NAME or NAMESPACE/NAME of the Pod there in whose name it is called, " +
				"about which NetworkPolicies are asked (default: one of the Service's namespace, else of another one)"},
			OutputFlag("table, json or yaml")),
		Action: func(c *cli.Context) error {
			service, err := OneArgument(c, "name of the Service")
			if err != nil {
				return err
			}
			for _, kind := range []string{"service/", "services/", "svc/"} {
				service = strings.TrimPrefix(service, kind)
			}
			if c.String("from") == "" {
				return Usage("--from is required: the site that calls; see: %s --help", c.Command.HelpName)
			}
			return TraceService(c.Context, TraceOptions{
				Kubeconfig: c.String("kubeconfig"), Space: c.String("space"), Namespace: c.String("namespace"),
				Service: service, Port: c.String("port"), From: c.String("from"), Pod: c.String("pod"),
				Output: c.String("output"), Out: c.App.Writer,
			})
		},
	}
}

// TraceService has a site call a Service, and prints what came of it. The error is ErrProblems where nothing answered.
func TraceService(ctx context.Context, o TraceOptions) error {
	if err := checkTableOutput(o.Output); err != nil {
		return err
	}
	config, namespace, err := spaceConfig(ctx, o.Kubeconfig, o.Space, o.Namespace)
	if err != nil {
		return err
	}
	review := &v1alpha1.ServiceReview{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ServiceReview"},
		Spec: v1alpha1.ServiceReviewSpec{Namespace: namespace, Service: o.Service, Port: o.Port, From: o.From,
			Pod: o.Pod},
	}
	if name, in, whole := wholeName(o.Service); whole {
		review.Spec.Service, review.Spec.Namespace = name, in
	}
	if host, service, both := strings.Cut(review.Spec.Service, "."); both {
		review.Spec.Host, review.Spec.Service = host, service
	}
	if namespace = review.Spec.Namespace; o.Pod != "" && !strings.Contains(o.Pod, "/") {
		review.Spec.Pod = namespace + "/" + o.Pod
	}
	err = postReview(ctx, config, "servicereviews", review)
	if asked := review.Spec.Service; err != nil && review.Spec.Host == "" && isAbout(err, asked) {
		if review.Spec.Service = servesImport(ctx, config, namespace, asked); review.Spec.Service != asked {
			err = postReview(ctx, config, "servicereviews", review)
		}
	}
	if err != nil {
		if isAbout(err, review.Spec.Service) {
			return noService(review, o.Space)
		}
		if apierrors.IsNotFound(err) && o.Space == "" {
			return fmt.Errorf("trace service/%s: %w; Services are called in spaces: is the current context of a space? "+
				"else give --space NAME", o.Service, err)
		}
		return fmt.Errorf("trace service/%s: %w", o.Service, err)
	}
	if table, _ := isTable(o.Output); table {
		err = printTrace(o.Out, review)
	} else {
		err = printData(o.Out, o.Output, review, nil)
	}
	if err == nil && !review.Status.Answered {
		err = fmt.Errorf("%w: service/%s does not answer from %s: %s", ErrProblems, o.Service, o.From,
			review.Status.Reason)
	}
	return err
}

// wholeName reads the name of a Service as clients have it: NAME.NAMESPACE.svc, with or without a zone.
func wholeName(text string) (name, namespace string, is bool) {
	name, _, is = strings.Cut(text+".", ".svc.")
	i := strings.LastIndex(name, ".")
	if !is || i < 0 {
		return "", "", false
	}
	return name[:i], name[i+1:], true
}

// servesImport is the name of the Service that serves an import, or the name itself where that is no import's.
func servesImport(ctx context.Context, config *rest.Config, namespace, name string) string {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return name
	}
	list, err := client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{
		LabelSelector: v1alpha1.LabelImported + "=" + name})
	if err != nil || len(list.Items) != 1 { // a name that is no label has none either
		return name
	}
	return list.Items[0].Name
}

// noService says that there is no Service of a name, and what the name was taken for.
func noService(r *v1alpha1.ServiceReview, space string) error {
	err := notThere("service", r.Spec.Service, space, r.Spec.Namespace)
	if r.Spec.Host != "" {
		err = fmt.Errorf("%w. %s.%s is taken for the Pod %[2]s of it; "+
			"for Service %[2]s of namespace %[3]s write: %[2]s -n %[3]s", err, r.Spec.Host, r.Spec.Service)
	}
	return err
}

// printTrace prints what came of a call for people.
func printTrace(out io.Writer, r *v1alpha1.ServiceReview) error {
	var b strings.Builder
	s := &r.Status
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-9s %s\n", name, text)
		}
	}
	of := r.Spec.Service
	if r.Spec.Host != "" {
		of = r.Spec.Host + "." + of
	}
	if s.Port != 0 {
		of += fmt.Sprintf(", port %d", s.Port)
	}
	line("Service", r.Spec.Namespace+"/"+of)
	line("From", strings.TrimSuffix(r.Spec.From+", as pod "+s.As, ", as pod "))
	line("Answered", answeredText(s))
	line("Reason", strings.Trim(map[bool]string{false: s.Reason}[s.Answered]+": "+s.Message, ": "))
	if !s.Answered {
		line("Next", adviceFor(s))
	}
	b.WriteString("\n")
	w := tabwriter.NewWriter(&b, 0, 8, 3, ' ', 0)
	fmt.Fprintln(w, "AT\tDECIDES\tTOOK\tWHY")
	for _, hop := range s.Hops {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", placeText(hop.At), hop.Reason, tookText(hop.Took),
			strings.TrimSuffix(hop.Message+" (pod "+hop.Pod+")", " (pod )"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(out, fleet.Printable(b.String()))
	return err
}

func answeredText(s *v1alpha1.ServiceReviewStatus) string {
	if !s.Answered {
		return "no"
	}
	text := "yes"
	if s.Site != "" {
		text = "by " + placeText(s.Site)
	}
	if s.Pod != "" {
		text += ", pod " + s.Pod
	}
	if s.Took != nil {
		text += ", in " + tookText(s.Took)
	}
	return text
}

// placeText names a place of a trace.
func placeText(at string) string {
	if at == "." {
		return "the center"
	}
	return at
}

func tookText(d *metav1.Duration) string {
	if d == nil {
		return ""
	}
	return cmp.Or(map[bool]string{true: "<0.1ms"}[d.Duration < 100*time.Microsecond],
		d.Round(100*time.Microsecond).String())
}

// adviceFor is what to do about a call that nothing has answered. Of a Service that is another space's the team of that
// one has to do it.
func adviceFor(s *v1alpha1.ServiceReviewStatus) string {
	if n := len(s.Hops); n > 0 && strings.HasPrefix(s.Hops[n-1].Message, "space ") {
		if own := foreignAdvice[s.Reason]; own != "" {
			return own
		}
	}
	return traceAdvice[s.Reason]
}

// foreignAdvice is what to do where that is another thing than traceAdvice, for a Service that another space exports.
var foreignAdvice = map[string]string{
	"NoReadyPod": "ask the team of that space: skerry trace of its own Service, from its own site, says more to it",
	"DeniedByNetworkPolicy": "ask the team of that space to let this caller in by an ipBlock with its address: labels " +
		"say nothing about Pods of other spaces",
}

// traceAdvice is what to do about each reason.
var traceAdvice = map[string]string{
	"NoReadyPod": "kubectl describe pods says why none is ready; kubectl get endpointslices, which Pods it selects",
	"DeniedByNetworkPolicy": "kubectl get networkpolicies -o yaml; let this caller in by its labels and its " +
		"Namespace's, or name another caller with --pod",
	"NoName":     "let something of the space run there, or say skerry.dev/reach: Space",
	"NoPort":     "name another port with --port",
	"NoEndpoint": "the site's owner reads the log of the agent (part services)",
	"Closed": "ask the owner of that site to let Services be called (--allow-services), or the center's admin " +
		"(spec.allow)",
	"Unreachable": "what is there goes on; kubectl get nodes says which site is silent, and its owner what is wrong",
	"Late":        "the link is slow or dead: try again",
	"Limited":     "try again when connections have ended",
	"Moving":      "callers wait for 30 s until what answers is ready; kubectl describe says how the move goes",
}

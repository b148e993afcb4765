package admin

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/kubernetes"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/volumes"
	"skerry.dev/skerry/tunnel/output"
)

// ListVolumesCommand is `skerry volume list`.
func ListVolumesCommand() *cli.Command {
	return &cli.Command{
		Name:  "list",
		Usage: "show which claims have a standby, how old that is, and what was kept of an app that was lost with its site",
		Flags: ClientFlags(
			&cli.StringFlag{Name: "space", Usage: "of the claims (default: that of the kubeconfig)"},
			&cli.StringFlag{Name: "namespace", Aliases: []string{"n"}, Usage: "of the claims (default: all)"},
			OutputFlag("json or yaml"),
		),
		Action: func(c *cli.Context) error {
			v, err := openVolumes(c)
			if err != nil {
				return err
			}
			return v.list(c.Context, c.String("namespace"), c.String("output"), c.App.Writer)
		},
	}
}

// volumeUser does what a user of a space does with standbys.
type volumeUser struct {
	client kubernetes.Interface
	now    func() time.Time
	pause  time.Duration // between two looks
}

func openVolumes(c *cli.Context) (*volumeUser, error) {
	config, _, err := spaceConfig(c.Context, c.String("kubeconfig"), c.String("space"), "")
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig: %w", err)
	}
	return &volumeUser{client: client, now: time.Now, pause: time.Second}, nil
}

// standby is one claim as it is listed.
type standby struct {
	Namespace string `json:"namespace"`
	Claim     string `json:"claim"`
	// Mode is Fuzzy, Ended for what is not replicated now, Kept for what is kept of an app at a target that it was lost
	// with, or None.
	Mode   string `json:"mode"`
	Source string `json:"source,omitempty"`
	Target string `json:"standby,omitempty"`
	// Last is the last whole round.
	Last    *volumes.Round `json:"last,omitempty"`
	Next    time.Time      `json:"next,omitzero"`
	Lost    *volumes.Lost  `json:"lost,omitempty"`
	Problem string         `json:"problem,omitempty"`

	mark  volumes.Mark
	mover *appsv1.Deployment
}

const (
	modeFuzzy = "Fuzzy"
	modeEnded = "Ended"
	modeKept  = "Kept"
	modeNone  = "None"
)

func (v *volumeUser) standbys(ctx context.Context, namespace string) (out []standby, err error) {
	movers, err := v.client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/component=" + volumes.Component})
	if err != nil {
		return nil, fmt.Errorf("list what keeps the standbys: %w", err)
	}
	for i := range movers.Items {
		d := &movers.Items[i]
		mark, ok := volumes.ParseMark(d.Annotations[v1alpha1.AnnotationMover])
		if !ok || !mark.Side.Replicates() {
			continue
		}
		s := standby{Namespace: d.Namespace, Claim: claimOf(d), Mode: modeFuzzy, mark: mark, mover: d}
		if mark.Side == volumes.SideSource {
			if d.Annotations[v1alpha1.AnnotationKeepUntil] == "" {
				continue
			}
			s.Mode, s.Source = modeKept, d.Labels[v1alpha1.LabelTarget]
			s.Problem = "what it held when the app was lost with it; give it up with skerry volume forget"
		} else {
			is := volumes.ParseStandby(d.Annotations[v1alpha1.AnnotationStandby])
			if s.Target = d.Labels[v1alpha1.LabelTarget]; is != nil {
				s.Source, s.Last, s.Next, s.Lost, s.Problem = is.Source, is.Last, is.Next, is.Lost, is.Problem
			}
			if is != nil && is.Ended {
				s.Mode, s.Problem = modeEnded, "it is not replicated now, and stays as it is; skerry volume forget deletes it"
			}
			if s.Lost != nil { // what a round has failed of does not matter any more
				s.Problem = is.Says()
			}
		}
		out = append(out, s)
	}
	none, err := v.without(ctx, namespace, out)
	if err != nil {
		return nil, err
	}
	out = append(out, none...)
	slices.SortFunc(out, func(a, b standby) int {
		return strings.Compare(a.Namespace+"/"+a.Claim+" "+a.Mode, b.Namespace+"/"+b.Claim+" "+b.Mode)
	})
	return out, nil
}

// without are the claims that are to have a standby and have none, and why. Of those that have one it notes there why
// that is not replicated.
func (v *volumeUser) without(ctx context.Context, namespace string, has []standby) (out []standby, err error) {
	claims, err := v.client.CoreV1().PersistentVolumeClaims(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the claims: %w", err)
	}
	for _, c := range claims.Items {
		for _, cond := range c.Status.Conditions {
			if cond.Type != v1alpha1.ConditionReplicated || cond.Status == corev1.ConditionTrue {
				continue
			}
			known := false
			for i := range has {
				if s := &has[i]; s.Namespace == c.Namespace && s.Claim == c.Name && s.Mode != modeKept {
					if known = true; s.Mode == modeEnded {
						s.Problem = cond.Message
					}
				}
			}
			if !known {
				out = append(out, standby{Namespace: c.Namespace, Claim: c.Name, Mode: modeNone, Problem: cond.Message})
			}
		}
	}
	sets, err := v.client.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the StatefulSets: %w", err)
	}
	for _, s := range sets.Items {
		for _, cond := range s.Status.Conditions {
			if cond.Type == v1alpha1.ConditionReplicated && cond.Reason == "NotReplicated" {
				out = append(out, standby{Namespace: s.Namespace, Claim: "of StatefulSet " + s.Name, Mode: modeNone,
					Problem: cond.Message})
			}
		}
	}
	return out, nil
}

func claimOf(d *appsv1.Deployment) string {
	for _, v := range d.Spec.Template.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			return v.PersistentVolumeClaim.ClaimName
		}
	}
	return ""
}

func (v *volumeUser) list(ctx context.Context, namespace, format string, out io.Writer) error {
	if err := checkDataOutput(format); err != nil {
		return err
	}
	list, err := v.standbys(ctx, namespace)
	if err != nil {
		return err
	}
	if format != "" {
		if list == nil {
			list = []standby{}
		}
		return printData(out, format, list, nil)
	}
	if len(list) == 0 {
		fmt.Fprintln(out, "no claim is to have a standby: set skerry.dev/volumes=Replicate on a Namespace, or "+
			"spec.move.volumes of a Placement")
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(w, "CLAIM\tMODE\tSOURCE\tSTANDBY\tLAST\tBYTES\tFILES\tSENT\tNEXT\tPROBLEM")
	for _, s := range list {
		last, bytes, files, sent, next := "-", "-", "-", "-", "-"
		if r := s.Last; r != nil {
			last = duration.HumanDuration(v.now().Sub(r.At)) + " ago"
			bytes, files, sent = output.Bytes(r.Bytes), fmt.Sprint(r.Files), output.Bytes(r.Sent)
		}
		if !s.Next.IsZero() {
			next = "in " + duration.HumanDuration(max(s.Next.Sub(v.now()), 0))
		}
		fmt.Fprintf(w, "%s/%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Namespace, s.Claim, s.Mode, cmp.Or(s.Source, "-"),
			cmp.Or(s.Target, "-"), last, bytes, files, sent, next, s.Problem)
	}
	return w.Flush()
}

package admin

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"skerry.dev/skerry/server/admin/fleet"
	"skerry.dev/skerry/server/api/v1alpha1"
)

// CAStatus prints how the center's authorities are.
func CAStatus(ctx context.Context, o CAOptions) error {
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	a, err := c.authorities(ctx)
	if err != nil {
		return err
	}
	return o.print(a.status)
}

func (o CAOptions) print(s v1alpha1.AuthoritiesStatus) error {
	if o.Output != "" {
		return printData(o.Out, o.Output, s, nil)
	}
	w := tabwriter.NewWriter(o.Out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(w, "GENERATION\tPHASE\tSINCE\tENDS\tREADY")
	ready := "-"
	if s.Phase != v1alpha1.AuthoritiesStable {
		ready = fmt.Sprintf("%d/%d", s.Targets-s.Waiting, s.Targets)
	}
	fmt.Fprintf(
		w,
		"%d\t%s\t%s ago\t%s\t%s\n",
		s.Generation,
		s.Phase,
		age(s.Since),
		s.Until.Format(time.DateOnly),
		ready,
	)
	if err := w.Flush(); err != nil {
		return err
	}
	if text := fleet.FormerNames(s.FormerNames); text != "" {
		if _, err := fmt.Fprintln(o.Out, text); err != nil {
			return err
		}
	}
	return explainPhase(o.Out, s)
}

// explainPhase says what is awaited, and what a person may do.
func explainPhase(w io.Writer, s v1alpha1.AuthoritiesStatus) (err error) {
	names := strings.Join(s.WaitingFor, ", ")
	if s.Waiting > len(s.WaitingFor) {
		names += fmt.Sprintf(" and %d more", s.Waiting-len(s.WaitingFor))
	}
	switch {
	case s.Problem != "":
		_, err = fmt.Fprintf(w, "%s. It is tried again; the center's log says more.\n", s.Problem)
	case s.Phase == v1alpha1.AuthoritiesAnnounced && s.Waiting > 0:
		_, err = fmt.Fprintf(
			w,
			"Sites that do not trust the new authorities yet: %s. To go on without them: skerry ca rotate --force\n",
			names,
		)
	case s.Phase == v1alpha1.AuthoritiesSwitched && s.Waiting > 0:
		_, err = fmt.Fprintf(
			w,
			"Sites that have not renewed their certificate yet: %s. To go on without them: skerry ca rotate --force "+
				"(they have to join again)\n",
			names,
		)
	case s.Phase == v1alpha1.AuthoritiesSwitched && s.NextAt != nil:
		_, err = fmt.Fprintf(
			w,
			"The old authorities are retired in %s. Until then hand out new kubeconfigs in place of older ones: skerry "+
				"space kubeconfig NAME\n",
			duration.HumanDuration(time.Until(s.NextAt.Time)),
		)
	}
	return err
}

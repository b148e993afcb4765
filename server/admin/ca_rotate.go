package admin

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// RotateCA asks the center to replace its authorities, or, while it does that, to go about it in
// another way. It does not wait: the center leads the rotation to its end by itself, over restarts.
func RotateCA(ctx context.Context, o CAOptions) error {
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	var a *authorities
	var request v1alpha1.AuthoritiesRequest
	err = retryConflict(func() (err error) {
		if a, err = c.authorities(ctx); err != nil {
			return err
		}
		if request, err = o.request(a); err != nil {
			return err
		}
		return c.patchAuthorities(ctx, a, v1alpha1.AuthoritiesRequestKey, request, o.DryRun)
	})
	if err != nil {
		return err
	}
	return o.asked(a, request)
}

// request is what to ask for: the next generation, or the one that is under way.
func (o CAOptions) request(a *authorities) (v1alpha1.AuthoritiesRequest, error) {
	next := a.status.Generation + 1
	if a.status.Phase == v1alpha1.AuthoritiesSwitched {
		next = a.status.Generation
	}
	r := v1alpha1.AuthoritiesRequest{Generation: next}
	if a.request.Generation == next {
		r = a.request
	}
	if o.SwitchAfter > 0 {
		r.SwitchAt = &metav1.Time{Time: time.Now().Add(o.SwitchAfter).Truncate(time.Second)}
	}
	if o.RetireAfter != nil {
		r.RetireAfter = &metav1.Duration{Duration: *o.RetireAfter}
	}
	r.Force = ""
	if o.Force {
		if a.status.Phase == v1alpha1.AuthoritiesStable {
			return r, Usage(
				"--force leaves a phase of a rotation, and none is under way; begin one with: skerry ca rotate",
			)
		}
		r.Force = a.status.Phase
	}
	return r, nil
}

func (o CAOptions) asked(a *authorities, r v1alpha1.AuthoritiesRequest) error {
	if o.Output != "" {
		return printData(o.Out, o.Output, r, nil)
	}
	suffix := ""
	if o.DryRun {
		suffix = " (dry run: nothing was changed)"
	}
	what := fmt.Sprintf("A rotation to generation %d is asked for", r.Generation)
	if a.status.Phase != v1alpha1.AuthoritiesStable {
		what = fmt.Sprintf("The rotation to generation %d is under way (%s)", r.Generation, a.status.Phase)
	}
	if r.Force != "" {
		what += fmt.Sprintf("; the phase %s is left at once", r.Force)
	}
	_, err := fmt.Fprintf(o.Out, `%s%s.
The center tells all sites of the new authorities, uses them when all have acknowledged, and
retires the old ones when all certificates are renewed. It goes on by itself, also over a restart.
Back up its data directory afterwards. See: skerry ca status
Kubeconfigs name the authorities: those that were handed out before are good until the old ones are
retired. admin.kubeconfig of the center is written anew; for others: skerry space kubeconfig NAME
`, what, suffix)
	return err
}

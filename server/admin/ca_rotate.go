package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// RotateCA asks the center to replace its authorities, or, while it does that, to go about it in
// another way. It does not wait: the center leads the rotation to its end by itself, over restarts.
func RotateCA(ctx context.Context, o CAOptions) error {
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	for range attempts {
		a, err := c.authorities(ctx)
		if err != nil {
			return err
		}
		request, err := o.request(a)
		if err != nil {
			return err
		}
		err = c.ask(ctx, a, request, o.DryRun)
		if apierrors.IsConflict(err) {
			continue
		} else if err != nil {
			return fmt.Errorf("ask the center to rotate its authorities: %w", err)
		}
		return o.asked(a, request)
	}
	return fmt.Errorf("the request was changed by others again and again; try again")
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

func (c *center) ask(ctx context.Context, a *authorities, r v1alpha1.AuthoritiesRequest, dryRun bool) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(
		map[string]any{"metadata": map[string]any{"resourceVersion": a.object.GetResourceVersion()},
			"data": map[string]any{v1alpha1.AuthoritiesRequestKey: string(text)}},
	)
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	_, err = c.root.Resource(
		configMaps,
	).Namespace(
		v1alpha1.AuthoritiesNamespace,
	).Patch(
		ctx,
		v1alpha1.AuthoritiesName,
		types.MergePatchType,
		patch,
		options,
	)
	return err
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

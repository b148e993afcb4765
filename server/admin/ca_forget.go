package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// forgetTime is how long a center may take until a name is off its certificate.
const forgetTime = 20 * time.Second

// ForgetNames takes former names off the center's certificate, and waits until they are.
func ForgetNames(ctx context.Context, o CAOptions, names []string) error {
	if len(names) == 0 {
		return Usage("skerry ca forget needs names: those that the certificate keeps are in: skerry ca status")
	}
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	a, err := c.authorities(ctx)
	if err != nil {
		return err
	}
	if err := checkFormer(a.status, names); err != nil {
		return err
	}
	err = retryConflict(func() error {
		if a, err = c.authorities(ctx); err != nil {
			return err
		}
		return c.patchAuthorities(ctx, a, v1alpha1.AuthoritiesForgetKey, names, o.DryRun)
	})
	if err != nil {
		return err
	}
	if o.DryRun {
		_, err := fmt.Fprintf(o.Out, "%s would be taken off the center's certificate (dry run: nothing was changed)\n",
			strings.Join(names, ", "))
		return err
	}
	if err := c.awaitForgotten(ctx, names); err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "%s: no longer in the center's certificate. Kubeconfigs that name it are refused; "+
		"new ones: skerry space kubeconfig NAME\n", strings.Join(names, ", "))
	return err
}

// checkFormer refuses names that are none of those that the certificate keeps.
func checkFormer(s v1alpha1.AuthoritiesStatus, names []string) error {
	for _, name := range names {
		if formerName(s, name) {
			continue
		}
		if len(s.FormerNames) == 0 {
			return fmt.Errorf("the certificate keeps no former names, so %s is none; to take off one that is "+
				"advertised, leave it out of advertise: and restart the center first", name)
		}
		var kept []string
		for _, f := range s.FormerNames {
			kept = append(kept, f.Name)
		}
		return fmt.Errorf("%s is no former name of the center: the certificate keeps %s; one that is advertised "+
			"has to be left out of advertise: first", name, strings.Join(kept, ", "))
	}
	return nil
}

func formerName(s v1alpha1.AuthoritiesStatus, name string) bool {
	return slices.ContainsFunc(s.FormerNames, func(f v1alpha1.FormerName) bool {
		return strings.EqualFold(f.Name, name)
	})
}

// awaitForgotten returns when none of the names is in the certificate.
func (c *center) awaitForgotten(ctx context.Context, names []string) error {
	ctx, cancel := context.WithTimeout(ctx, forgetTime)
	defer cancel()
	for {
		a, err := c.authorities(ctx)
		if err == nil && !slices.ContainsFunc(names, func(name string) bool { return formerName(a.status, name) }) {
			return nil
		}
		select {
		case <-time.After(forgetTime / 40):
		case <-ctx.Done():
			return fmt.Errorf("the center has not taken the names off within %s; see its log and: skerry ca status", forgetTime)
		}
	}
}

// patchAuthorities writes a value in the document through which admins ask the center.
func (c *center) patchAuthorities(ctx context.Context, a *authorities, key string, value any, dryRun bool) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": a.object.GetResourceVersion()},
		"data": map[string]any{key: string(text)}})
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	_, err = c.root.Resource(configMaps).Namespace(v1alpha1.AuthoritiesNamespace).Patch(ctx, v1alpha1.AuthoritiesName,
		types.MergePatchType, patch, options)
	if err != nil {
		return fmt.Errorf("ask the center by configmap %s/%s: %w", v1alpha1.AuthoritiesNamespace,
			v1alpha1.AuthoritiesName, err)
	}
	return nil
}

// retryConflict does something again while others change the same object.
func retryConflict(do func() error) error {
	for range attempts {
		if err := do(); !apierrors.IsConflict(err) {
			return err
		}
	}
	return fmt.Errorf("the request was changed by others again and again; try again")
}

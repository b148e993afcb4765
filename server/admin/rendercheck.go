package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// errNotChecked is returned when the center does not say whether a variant is valid.
var errNotChecked = errors.New("the center did not check it")

// check has the center check a variant by the schema and the rules of its kind: it is created in a dry
// run, under the name that the object has already. Annotations of the center stay out of it.
func (r *rendering) check(ctx context.Context, body []byte) error {
	obj := &unstructured.Unstructured{}
	if err := json.Unmarshal(body, &obj.Object); err != nil {
		return err
	}
	notes := obj.GetAnnotations()
	for name := range notes {
		if strings.HasPrefix(name, v1alpha1.GroupVersion.Group+"/") {
			delete(notes, name)
		}
	}
	obj.SetAnnotations(notes)
	_, err := r.api.Create(ctx, obj, metav1.CreateOptions{
		DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return err
	}
	return fmt.Errorf("%w: %w", errNotChecked, err)
}

// refused is the error for a variant that its target would refuse. That it was not checked is no error
// of the variant, and is said as a warning.
func (r *rendering) refused(ctx context.Context, o RenderOptions, target string, body []byte) error {
	err := r.check(ctx, body)
	if errors.Is(err, errNotChecked) {
		fmt.Fprintf(o.Err, "Warning: %s\n", err)
		return nil
	}
	if err != nil {
		return problem("%s would refuse this variant: %w; mend the Customizer that makes it: --diff names it", target, err)
	}
	return nil
}

// targetsOf are the targets that an object names; nil where it only counts them.
func targetsOf(obj *unstructured.Unstructured) []string {
	text := obj.GetAnnotations()[v1alpha1.AnnotationTargets]
	if text == "" || strings.Contains(text, ":") {
		return nil
	}
	return strings.Split(text, ",")
}

// renderAll prints a line for each target of an object: all that there are, where the object only
// counts its own.
func (c *center) renderAll(ctx context.Context, o RenderOptions, r *rendering) error {
	sites, err := r.sites(ctx, c, o)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(o.Out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(w, "TARGET\tCUSTOMIZERS\tCHANGES\tMESSAGE")
	wrong, checked := 0, map[string]error{} // by variant: many targets have the same
	for _, t := range sites {
		if r.on != nil && !slices.Contains(r.on, t.Name) {
			continue
		}
		if t.relay {
			fmt.Fprintf(w, "%s\t-\t-\ta relay: its own targets render it\n", t.Name)
			continue
		}
		base, err := r.at(t.Name)
		if err != nil {
			return err
		}
		out, err := r.set.Explain(base, t.Values)
		if variant := string(out.Body); err == nil && len(out.By) > 0 {
			if _, known := checked[variant]; !known {
				checked[variant] = r.check(ctx, out.Body)
			}
			err = checked[variant]
		}
		message := r.later(t.Name)
		if err != nil {
			message = err.Error()
		}
		if err != nil && !errors.Is(err, errNotChecked) {
			wrong++
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", t.Name, cmp.Or(strings.Join(out.By, ","), "-"), len(out.Changes), message)
	}
	if err := w.Flush(); err != nil || wrong == 0 {
		return err
	}
	return problem("targets that get no variant, or would refuse it: %d; --target NAME --diff names the Customizer", wrong)
}

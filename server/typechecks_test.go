package server_test

import (
	"strings"
	"testing"
	"time"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// typeChecks: the status of a policy says what is wrong with its expressions, for the kinds of its
// space, and again when it has changed.
func typeChecks(t *testing.T, c *center, space string) {
	ctx := t.Context()
	reg := clients(t, c.admin(space)).AdmissionregistrationV1().ValidatingAdmissionPolicies()
	rule := constraints(registrationv1.Create)
	p, err := reg.Create(ctx, &registrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "typed"},
		Spec: registrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: rule,
			Validations: []registrationv1.Validation{
				{Expression: "object.data.size() < 9"}, {Expression: "object.replicas > 1"}},
		}}, metav1.CreateOptions{})
	must(t, err)
	checked := func() (found []registrationv1.ExpressionWarning) {
		within(t, time.Minute, "the policy is checked", func() bool {
			var err error
			p, err = reg.Get(ctx, "typed", metav1.GetOptions{})
			return err == nil && p.Status.ObservedGeneration == p.Generation
		})
		if p.Status.TypeChecking != nil {
			found = p.Status.TypeChecking.ExpressionWarnings
		}
		return found
	}
	found := checked()
	if len(found) != 1 || found[0].FieldRef != "spec.validations[1].expression" ||
		!strings.Contains(found[0].Warning, "undefined field 'replicas'") {
		t.Errorf("warnings: %+v", found)
	}
	p.Spec.Validations = p.Spec.Validations[:1]
	_, err = reg.Update(ctx, p, metav1.UpdateOptions{})
	must(t, err)
	if found := checked(); len(found) != 0 {
		t.Errorf("warnings after it was mended: %+v", found)
	}
}

package policy

import (
	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
)

// newCompiler returns a compiler with the variables of a policy.
func newCompiler(variables []v1.Variable, o cel.OptionalVariableDeclarations) (*cel.CompositedCompiler, error) {
	c, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return nil, err
	}
	var named []cel.NamedExpressionAccessor
	for _, v := range variables {
		named = append(named, &validating.Variable{Name: v.Name, Expression: v.Expression})
	}
	c.CompileAndStoreVariables(named, o, environment.StoredExpressions)
	return c, nil
}

// conditions compiles matchConditions, nil for none.
func conditions(
	c *cel.CompositedCompiler,
	all []v1.MatchCondition,
	o cel.OptionalVariableDeclarations,
	fails *v1.FailurePolicyType,
	verb, name string,
) matchconditions.Matcher {
	if len(all) == 0 {
		return nil
	}
	var expressions []cel.ExpressionAccessor
	for i := range all {
		expressions = append(expressions, (*matchconditions.MatchCondition)(&all[i]))
	}
	return matchconditions.NewMatcher(
		c.CompileCondition(expressions, o, environment.StoredExpressions),
		fails,
		"policy",
		verb,
		name,
	)
}

// compileValidating compiles a policy. A mistake in it is an error of each evaluation, so that the
// policy's failurePolicy applies.
func compileValidating(p *v1.ValidatingAdmissionPolicy) validating.Validator {
	full := cel.OptionalVariableDeclarations{HasParams: p.Spec.ParamKind != nil, HasAuthorizer: true}
	plain := cel.OptionalVariableDeclarations{HasParams: p.Spec.ParamKind != nil}
	c, err := newCompiler(p.Spec.Variables, full)
	if err != nil {
		return validating.NewValidator(nil, nil, nil, nil, p.Spec.FailurePolicy, err)
	}
	checks, messages := make(
		[]cel.ExpressionAccessor,
		len(p.Spec.Validations),
	), make(
		[]cel.ExpressionAccessor,
		len(p.Spec.Validations),
	)
	for i, v := range p.Spec.Validations {
		checks[i] = &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason}
		if v.MessageExpression != "" {
			messages[i] = &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}
		}
	}
	notes := make([]cel.ExpressionAccessor, len(p.Spec.AuditAnnotations))
	for i, n := range p.Spec.AuditAnnotations {
		notes[i] = &validating.AuditAnnotationCondition{Key: n.Key, ValueExpression: n.ValueExpression}
	}
	return validating.NewValidator(
		c.CompileCondition(checks, full, environment.StoredExpressions),
		conditions(c, p.Spec.MatchConditions, full, p.Spec.FailurePolicy, "validate", p.Name),
		c.CompileCondition(notes, full, environment.StoredExpressions),
		c.CompileCondition(messages, plain, environment.StoredExpressions),
		p.Spec.FailurePolicy, nil)
}

// compileMutating compiles a policy, with the same handling of errors.
func compileMutating(p *v1.MutatingAdmissionPolicy) mutating.PolicyEvaluator {
	o := cel.OptionalVariableDeclarations{HasParams: p.Spec.ParamKind != nil, HasAuthorizer: true}
	c, err := newCompiler(p.Spec.Variables, o)
	if err != nil {
		return mutating.PolicyEvaluator{Error: err}
	}
	e := mutating.PolicyEvaluator{
		CompositedCompiler: c,
		Matcher:            conditions(c, p.Spec.MatchConditions, o, p.Spec.FailurePolicy, "mutate", p.Name),
	}
	o.HasPatchTypes = true
	for _, m := range p.Spec.Mutations {
		switch {
		case m.PatchType == v1.PatchTypeJSONPatch && m.JSONPatch != nil:
			e.Mutators = append(e.Mutators, patch.NewJSONPatcher(
				c.CompileMutatingEvaluator(
					&patch.JSONPatchCondition{Expression: m.JSONPatch.Expression},
					o,
					environment.StoredExpressions,
				),
			))
		case m.PatchType == v1.PatchTypeApplyConfiguration && m.ApplyConfiguration != nil:
			e.Mutators = append(e.Mutators, patch.NewApplyConfigurationPatcher(
				c.CompileMutatingEvaluator(
					&patch.ApplyConfigurationCondition{Expression: m.ApplyConfiguration.Expression},
					o,
					environment.StoredExpressions,
				),
			))
		}
	}
	return e
}

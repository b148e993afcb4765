package admission

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/kubernetes/pkg/apis/admissionregistration"

	"skerry.dev/skerry/server/apiserver/request"
	"skerry.dev/skerry/server/celbound"
)

// Expressions is the admission plugin that refuses expressions in CEL, and patterns of schemas, which
// could take the memory or the time of whoever evaluates them: the center for policies, conditions of
// webhooks and rules of definitions, the API servers of sites for what travels of these. What is stored
// already may be changed in everything else.
type Expressions struct{}

var _ admission.ValidationInterface = Expressions{}

// Handles implements admission.Interface.
func (Expressions) Handles(o admission.Operation) bool {
	return o == admission.Create || o == admission.Update
}

// Validate implements admission.ValidationInterface.
func (Expressions) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetSubresource() != "" || request.Space(ctx) == request.OwnSpace {
		return nil
	}
	now := expressionsOf(a.GetObject())
	if len(now) == 0 || reflect.DeepEqual(now, expressionsOf(a.GetOldObject())) {
		return nil
	}
	_, definition := a.GetObject().(*apiextensions.CustomResourceDefinition)
	bounds := celbound.Bounds{Estimated: definition}
	var wrong field.ErrorList
	for _, e := range now {
		var err error
		switch {
		case e.pattern:
			err = bounds.Pattern(e.text)
		case e.variable != "":
			err = bounds.Variable(e.variable, e.text)
		default:
			err = bounds.Check(e.text)
		}
		if err != nil {
			wrong = append(wrong, field.Forbidden(field.NewPath(e.at), err.Error()))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return apierrors.NewInvalid(a.GetKind().GroupKind(), a.GetName(), wrong)
}

// expression is one of an object.
type expression struct {
	at, text string
	variable string // the name that later ones see, of a variable
	pattern  bool   // a regular expression of a schema
}

// expressionsOf lists the expressions of an object, variables first and in their order.
func expressionsOf(o runtime.Object) []expression {
	var l expressionList
	switch obj := o.(type) {
	case *admissionregistration.ValidatingAdmissionPolicy:
		l.variables(obj.Spec.Variables)
		l.conditions("spec.", obj.Spec.MatchConditions)
		for i, v := range obj.Spec.Validations {
			l.add(v.Expression, "spec.validations[%d].expression", i)
			l.add(v.MessageExpression, "spec.validations[%d].messageExpression", i)
		}
		for i, n := range obj.Spec.AuditAnnotations {
			l.add(n.ValueExpression, "spec.auditAnnotations[%d].valueExpression", i)
		}
	case *admissionregistration.MutatingAdmissionPolicy:
		l.variables(obj.Spec.Variables)
		l.conditions("spec.", obj.Spec.MatchConditions)
		for i, m := range obj.Spec.Mutations {
			if m.ApplyConfiguration != nil {
				l.add(m.ApplyConfiguration.Expression, "spec.mutations[%d].applyConfiguration.expression", i)
			}
			if m.JSONPatch != nil {
				l.add(m.JSONPatch.Expression, "spec.mutations[%d].jsonPatch.expression", i)
			}
		}
	case *admissionregistration.ValidatingWebhookConfiguration:
		for i, w := range obj.Webhooks {
			l.conditions(fmt.Sprintf("webhooks[%d].", i), w.MatchConditions)
		}
	case *admissionregistration.MutatingWebhookConfiguration:
		for i, w := range obj.Webhooks {
			l.conditions(fmt.Sprintf("webhooks[%d].", i), w.MatchConditions)
		}
	case *apiextensions.CustomResourceDefinition:
		l.definition(&obj.Spec)
	}
	return l.all
}

// expressionList gathers expressions.
type expressionList struct{ all []expression }

func (l *expressionList) add(text, at string, args ...any) {
	if text != "" {
		l.all = append(l.all, expression{at: fmt.Sprintf(at, args...), text: text})
	}
}

func (l *expressionList) variables(all []admissionregistration.Variable) {
	for i, v := range all {
		l.all = append(l.all, expression{
			at: fmt.Sprintf("spec.variables[%d].expression", i), text: v.Expression, variable: v.Name,
		})
	}
}

func (l *expressionList) conditions(at string, all []admissionregistration.MatchCondition) {
	for i, c := range all {
		l.add(c.Expression, "%smatchConditions[%d].expression", at, i)
	}
}

// definition lists the rules of a definition: of all versions together, and of each one.
func (l *expressionList) definition(spec *apiextensions.CustomResourceDefinitionSpec) {
	if spec.Validation != nil {
		l.schema("spec.validation.openAPIV3Schema", spec.Validation.OpenAPIV3Schema)
	}
	for i, v := range spec.Versions {
		if v.Schema != nil {
			l.schema(fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema", i), v.Schema.OpenAPIV3Schema)
		}
	}
}

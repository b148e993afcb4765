package admission

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
)

// schema lists the rules of a schema (x-kubernetes-validations) and its patterns, at every depth and
// in order.
func (l *expressionList) schema(at string, s *apiextensions.JSONSchemaProps) {
	if s == nil {
		return
	}
	for i, v := range s.XValidations {
		l.add(v.Rule, "%s.x-kubernetes-validations[%d].rule", at, i)
		l.add(v.MessageExpression, "%s.x-kubernetes-validations[%d].messageExpression", at, i)
	}
	l.pattern(s.Pattern, at)
	for _, name := range slices.Sorted(maps.Keys(s.PatternProperties)) {
		l.pattern(name, at)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		below := s.Properties[name]
		l.schema(fmt.Sprintf("%s.properties[%s]", at, name), &below)
	}
	if s.Items != nil {
		l.schema(at+".items", s.Items.Schema)
		l.schemas(at+".items", s.Items.JSONSchemas)
	}
	if s.AdditionalProperties != nil {
		l.schema(at+".additionalProperties", s.AdditionalProperties.Schema)
	}
	l.schemas(at+".allOf", s.AllOf)
	l.schemas(at+".anyOf", s.AnyOf)
	l.schemas(at+".oneOf", s.OneOf)
	l.schema(at+".not", s.Not)
}

func (l *expressionList) pattern(text, at string) {
	if text != "" {
		l.all = append(l.all, expression{at: at + ".pattern", text: text, pattern: true})
	}
}

func (l *expressionList) schemas(at string, all []apiextensions.JSONSchemaProps) {
	for i := range all {
		l.schema(fmt.Sprintf("%s[%d]", at, i), &all[i])
	}
}

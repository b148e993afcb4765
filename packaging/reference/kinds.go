package reference

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// Kinds returns the page of all kinds that the definitions in a directory define, with every field.
func Kinds(crds fs.FS) (string, error) {
	files, err := fs.Glob(crds, "*.yaml")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("# Kinds\n\n" + generated + `
All are of the group ` + "`skerry.dev`" + `. ` + "`kubectl explain placement.spec`" + ` says the same at a terminal.
`)
	for _, file := range files {
		text, err := fs.ReadFile(crds, file)
		if err != nil {
			return "", err
		}
		var crd apiextensions.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &crd); err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		kind(&b, &crd)
	}
	return b.String(), nil
}

func kind(b *strings.Builder, crd *apiextensions.CustomResourceDefinition) {
	for _, version := range crd.Spec.Versions {
		schema := version.Schema.OpenAPIV3Schema
		scope := "Namespaced"
		if crd.Spec.Scope == apiextensions.ClusterScoped {
			scope = "Cluster-scoped"
		}
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n%s, `%s/%s`.\n", crd.Spec.Names.Kind, oneLine(schema.Description), scope,
			crd.Spec.Group, version.Name)
		for _, half := range []string{"spec", "status"} {
			if part, ok := schema.Properties[half]; ok && len(part.Properties) > 0 {
				fmt.Fprintf(b, "\n| %s | type | what |\n|---|---|---|\n", half)
				fields(b, half, &part)
			}
		}
	}
}

// fields writes a row for each field below a schema, depth first.
func fields(b *strings.Builder, path string, schema *apiextensions.JSONSchemaProps) {
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		field := schema.Properties[name]
		at := path + "." + name
		required := ""
		if slices.Contains(schema.Required, name) {
			required = ", required"
		}
		fmt.Fprintf(b, "| `%s` | %s%s | %s |\n", at, typeOf(&field), required, what(&field))
		inner := &field
		for inner.Items != nil && inner.Items.Schema != nil {
			inner, at = inner.Items.Schema, at+"[]"
		}
		if wellKnown(inner) {
			continue
		}
		fields(b, at, inner)
	}
}

// wellKnown says whether a schema is one that everybody knows from Kubernetes: a label selector, a
// condition.
func wellKnown(schema *apiextensions.JSONSchemaProps) bool {
	_, selector := schema.Properties["matchExpressions"]
	_, condition := schema.Properties["lastTransitionTime"]
	return selector || condition
}

func typeOf(field *apiextensions.JSONSchemaProps) string {
	switch {
	case field.XIntOrString:
		return "integer or string"
	case field.Type == "array" && field.Items != nil && field.Items.Schema != nil:
		return "list of " + typeOf(field.Items.Schema)
	case field.Type == "object" && field.AdditionalProperties != nil && field.AdditionalProperties.Schema != nil:
		return "map of " + typeOf(field.AdditionalProperties.Schema)
	case field.Format != "" && field.Type == "string":
		return field.Format
	default:
		return field.Type
	}
}

// what is a field's description, with its values, default and rules.
func what(field *apiextensions.JSONSchemaProps) string {
	parts := []string{oneLine(field.Description)}
	if len(field.Enum) > 0 {
		var values []string
		for _, v := range field.Enum {
			values = append(values, "`"+strings.Trim(string(v.Raw), `"`)+"`")
		}
		parts = append(parts, "One of "+strings.Join(values, ", ")+".")
	}
	if field.Default != nil {
		parts = append(parts, "Default: `"+strings.Trim(string(field.Default.Raw), `"`)+"`.")
	}
	for _, rule := range field.XValidations {
		if rule.Message != "" {
			parts = append(parts, sentence(rule.Message))
		}
	}
	return strings.ReplaceAll(strings.TrimSpace(strings.Join(parts, " ")), "|", `\|`)
}

func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(text)
}

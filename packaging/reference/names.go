package reference

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// nameKinds are the sections of the page of names, by how the constants of each begin.
var nameKinds = []struct{ prefix, title, intro string }{
	{"Label", "Labels", "Users and admins write them, unless it says otherwise."},
	{"Annotation", "Annotations", "Most are written by the center, and admission refuses them from others."},
	{"Condition", "Conditions", "In `status.conditions`. Those with `skerry.dev/` stand on kinds of Kubernetes itself."},
	{"Finalizer", "Finalizers", ""},
	{"Reason", "Reasons", "Of conditions."},
}

type constant struct{ name, value, comment string }

// Names returns the page of what the constants in Go source files of one package name: labels,
// annotations, conditions, finalizers and reasons, each with the comment of its constant.
func Names(dir string) (string, error) {
	all, err := constants(dir)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("# Labels, annotations and conditions\n\n" + generated)
	for _, section := range nameKinds {
		rows := slices.DeleteFunc(slices.Clone(all), func(c constant) bool {
			return !strings.HasPrefix(c.name, section.prefix)
		})
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", section.title)
		if section.intro != "" {
			b.WriteString(section.intro + "\n\n")
		}
		b.WriteString("| name | what |\n|---|---|\n")
		for _, c := range rows {
			fmt.Fprintf(&b, "| `%s` | %s |\n", c.value, strings.ReplaceAll(about(c), "|", `\|`))
		}
	}
	return b.String(), nil
}

// about is the comment of a constant, without the name that it begins with.
func about(c constant) string {
	if rest, ok := strings.CutPrefix(c.comment, "`"+c.value+"` "); ok && rest != "" {
		return strings.ToUpper(rest[:1]) + rest[1:]
	}
	return c.comment
}

// constants returns the string constants of a package, sorted by value. A comment that speaks of
// several stands with each. The names of constants in comments become their values, which is what a
// reader of the page knows.
func constants(dir string) ([]constant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("find the names of the API: %w", err)
	}
	var all []constant
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("read the names of the API: %w", err)
		}
		for _, decl := range file.Decls {
			if group, ok := decl.(*ast.GenDecl); ok && group.Tok == token.CONST {
				all = append(all, ofGroup(group)...)
			}
		}
	}
	var pairs []string
	slices.SortFunc(all, func(a, b constant) int { return len(b.name) - len(a.name) })
	for _, c := range all {
		pairs = append(pairs, c.name, "`"+c.value+"`")
	}
	values := strings.NewReplacer(pairs...)
	for i := range all {
		all[i].comment = oneLine(values.Replace(all[i].comment))
	}
	slices.SortFunc(all, func(a, b constant) int {
		return strings.Compare(a.value+" "+a.name, b.value+" "+b.name)
	})
	return all, nil
}

func ofGroup(group *ast.GenDecl) (all []constant) {
	comment := ""
	for _, spec := range group.Specs {
		value, ok := spec.(*ast.ValueSpec)
		if !ok || len(value.Names) != 1 || len(value.Values) != 1 {
			continue
		}
		if text := value.Doc.Text() + value.Comment.Text(); text != "" || !strings.Contains(comment, value.Names[0].Name) {
			comment = text // what stands above several constants speaks of those that it names
		}
		literal, ok := value.Values[0].(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			continue
		}
		all = append(all, constant{value.Names[0].Name, strings.Trim(literal.Value, "`\""), comment})
	}
	return all
}

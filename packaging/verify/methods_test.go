package verify

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mostMethods are the types of the module with the most methods, and how many each may have. No other type
// may have more than the least of these. A number is lowered with the type, and never raised: give the new
// methods to a type of their own.
var mostMethods = map[string]int{
	"server/catalog.Catalog":   135,
	"server/delivery.Delivery": 119,
	"agent/observe.Observer":   104,
	"server/summary.Summary":   100,
	"server/sessions.Server":   99,
	"agent/apply.Applier":      87,
	"server/desired.step":      80,
	"agent/target.Client":      76,
	"server/admin.center":      58,
	"server.Server":            54,
	"agent.agent":              54,
	"store/bolt.File":          52,
	"server/binding.step":      51,
	"server/catalog.Object":    51,
	"server/desired.State":     51,
	"agent/services.Services":  51,
	"agent/targettest.Server":  50,
	"agent/policy.Policy":      48,
	"tunnel/mux.Conn":          47,
}

// TestTypesDoNotGrow: an object with a hundred methods and one lock has no one thing that it is.
func TestTypesDoNotGrow(t *testing.T) {
	of := typeMethods{}
	eachFile(t, func(t *testing.T, path string, source []byte) {
		if strings.HasSuffix(path, "_test.go") || top(filepath.Dir(path)) == "testenv" {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("parse %s: %v", path, err)
		}
		of.add(filepath.Dir(path), file)
	})
	for _, wrong := range of.over(mostMethods) {
		t.Error(wrong)
	}
}

// typeMethods are the names of the methods of each type, the type as folder.Name. A method with a file for
// each system is one.
type typeMethods map[string]map[string]bool

func (m typeMethods) add(folder string, file *ast.File) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil {
			continue
		}
		name := filepath.ToSlash(folder) + "." + receiver(f)
		if m[name] == nil {
			m[name] = map[string]bool{}
		}
		m[name][f.Name.Name] = true
	}
}

// over says which types have more methods than they may.
func (m typeMethods) over(most map[string]int) (wrong []string) {
	least := slices.Min(slices.Collect(maps.Values(most)))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		limit, listed := most[name]
		if !listed {
			limit = least
		}
		if n := len(m[name]); n > limit {
			wrong = append(wrong, fmt.Sprintf("%s has %d methods, at most %d: give some to a type of their own", name, n, limit))
		}
	}
	return wrong
}

// receiver is the name of the type that a method is of, without its pointer and its parameters.
func receiver(method *ast.FuncDecl) string {
	for expr := method.Recv.List[0].Type; ; {
		switch is := expr.(type) {
		case *ast.StarExpr:
			expr = is.X
		case *ast.ParenExpr:
			expr = is.X
		case *ast.IndexExpr:
			expr = is.X
		case *ast.IndexListExpr:
			expr = is.X
		case *ast.Ident:
			return is.Name
		default:
			return ""
		}
	}
}

func TestGrowthIsSeen(t *testing.T) {
	of := typeMethods{}
	for _, source := range []string{
		"package x\nfunc (T) A() {}\nfunc (t *T) B() {}\nfunc B() {}",
		"package x\nfunc (t *T) B() {}\nfunc (g *G[K]) A() {}\nfunc (G[K]) B() {}\nfunc (g *G[K]) C() {}\nfunc (P[K, V]) A() {}",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", source, 0)
		if err != nil {
			t.Fatal(err)
		}
		of.add("server/x", file)
	}
	if wrong := of.over(map[string]int{"server/x.G": 3, "server/y.Z": 2}); len(wrong) != 0 {
		t.Errorf("within its limits: %v", wrong)
	}
	want := []string{"server/x.G has 3 methods, at most 2: give some to a type of their own",
		"server/x.T has 2 methods, at most 1: give some to a type of their own"}
	if wrong := of.over(map[string]int{"server/x.G": 2, "server/y.Z": 1}); !slices.Equal(wrong, want) {
		t.Errorf("got %q, want %q", wrong, want)
	}
}

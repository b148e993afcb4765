package verify

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxLines is the size of a file that somebody still reads as one concept. Aim at 250.
const maxLines = 400

// meaningless are names that say nothing about what a package is.
var meaningless = []string{"util", "utils", "common", "shared", "helpers", "types", "manager", "misc", "internal"}

func TestEveryPackageIsDocumented(t *testing.T) {
	eachPackage(t, func(t *testing.T, p pkg) {
		if len(p.GoFiles) == 0 {
			return
		}
		if len(strings.Fields(p.Doc)) < 5 {
			t.Errorf("%s has no package comment worth its name: %q", orMain(p.path()), p.Doc)
		}
		if slices.Contains(meaningless, filepath.Base(p.path())) {
			t.Errorf("%s: the name says nothing", p.path())
		}
	})
}

// maxColumns is the length of a line of code in bytes, a tab being one, as gofmt counts. Aim at 100.
const maxColumns = 120

func TestLinesAreShort(t *testing.T) {
	eachFile(t, func(t *testing.T, path string, source []byte) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, n := range longLines(source) {
			t.Errorf("%s:%d has more than %d bytes: break the line", path, n, maxColumns)
		}
	})
}

// longLines returns the numbers, from 1, of the lines over maxColumns. A marker of kubebuilder is
// exempt, because its generator reads one line, and so is a URL that stands alone in a comment.
func longLines(source []byte) (numbers []int) {
	for i, line := range strings.Split(string(source), "\n") {
		comment, isComment := strings.CutPrefix(strings.TrimSpace(line), "// ")
		marker := isComment && strings.HasPrefix(comment, "+kubebuilder:")
		url := isComment && strings.Contains(comment, "://") && !strings.Contains(comment, " ")
		if len(line) > maxColumns && !marker && !url {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

func TestLongLinesCanFail(t *testing.T) {
	long := strings.Repeat("x", maxColumns)
	source := long + "\n" + long + "x\n\t// +kubebuilder:" + long + "\n// https://" + long + "\n// see https://" + long
	if got := longLines([]byte(source)); !slices.Equal(got, []int{2, 5}) {
		t.Errorf("longLines = %v, want [2 5]", got)
	}
}

func TestFilesAreSmall(t *testing.T) {
	eachFile(t, func(t *testing.T, path string, source []byte) {
		if n := bytes.Count(source, []byte("\n")); n > maxLines {
			t.Errorf("%s has %d lines, at most %d: one concept a file", path, n, maxLines)
		}
	})
}

func TestExportedIdentifiersAreDocumented(t *testing.T) {
	eachFile(t, func(t *testing.T, path string, source []byte) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, source, parser.ParseComments)
		if err != nil {
			t.Fatalf("parse %s: %v", path, err)
		}
		for _, name := range undocumented(file) {
			t.Errorf("%s: exported %s has no comment", path, name)
		}
	})
}

func undocumented(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() && s.Doc == nil && d.Doc == nil {
						names = append(names, s.Name.Name)
					}
				case *ast.ValueSpec:
					if s.Names[0].IsExported() && s.Doc == nil && s.Comment == nil && d.Doc == nil {
						names = append(names, s.Names[0].Name)
					}
				}
			}
		}
	}
	return names
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	expr := d.Recv.List[0].Type
	if star, ok := expr.(*ast.StarExpr); ok {
		expr = star.X
	}
	if index, ok := expr.(*ast.IndexExpr); ok {
		expr = index.X
	}
	id, ok := expr.(*ast.Ident)
	return ok && id.IsExported()
}

func TestUndocumentedCanFail(t *testing.T) {
	file, err := parser.ParseFile(
		token.NewFileSet(),
		"x.go",
		"package x\nfunc Bare() {}\n// Fine is fine.\nfunc Fine() {}\ntype T int\n",
		parser.ParseComments,
	)
	if err != nil {
		t.Fatal(err)
	}
	if got := undocumented(file); !slices.Equal(got, []string{"Bare", "T"}) {
		t.Errorf("undocumented = %v", got)
	}
}

// eachFile visits the Go files of the repository and of testenv, generated ones left out.
func eachFile(t *testing.T, check func(t *testing.T, path string, source []byte)) {
	t.Helper()
	seen := 0
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && (name == ".git" || name == "bin" || name == "dist") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasPrefix(name, "zz_generated") {
			return nil
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		seen++
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		check(t, rel, source)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 20 {
		t.Fatalf("only %d Go files found: the test does not see the repository", seen)
	}
}

package doctor

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	agentdoctor "skerry.dev/skerry/agent/doctor"
	serverdoctor "skerry.dev/skerry/server/doctor"
	"skerry.dev/skerry/tunnel/doctor"
	"skerry.dev/skerry/tunnel/doctor/machine"
)

var update = flag.Bool("update", false, "write the table of checks into packaging/docs/reference/doctor.md")

const (
	page  = "../docs/reference/doctor.md"
	begin = "<!-- The table is made from the code: go test ./packaging/doctor -update -->\n"
	end   = "<!-- end of the table -->\n"
)

// all are the checks of all parts, each once.
func all() (out []doctor.Check) {
	site := agentdoctor.Site(agentdoctor.Config{DataDir: "/nosuch"})
	checks := append(serverdoctor.Center(serverdoctor.CenterConfig{DataDir: "/nosuch"}), site...)
	checks = append(checks, machine.Service("x", machine.Systemd{}, nil))
	checks = append(checks, serverdoctor.Workstation(serverdoctor.WorkstationConfig{})...)
	seen := map[string]bool{}
	for _, c := range checks {
		if !seen[c.Name] {
			seen[c.Name] = true
			out = append(out, c)
		}
	}
	return out
}

func table() string {
	var b strings.Builder
	for _, c := range all() {
		fmt.Fprintf(&b, "\n### %s\n\nWhether %s.\n\n| fault | what it means | fix |\n|---|---|---|\n", c.Name, c.What)
		for _, f := range c.Faults {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Name, f.Means, strings.ReplaceAll(f.Fix, "|", `\|`))
		}
	}
	return b.String() + "\n"
}

// The page has every check and every fault, in the words of the program.
func TestPageIsUpToDate(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, foundEnd := strings.Cut(rest, end)
	if !found || !foundEnd {
		t.Fatalf("%s has no place for the table", page)
	}
	want := before + begin + table() + end + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Error("the table is not what the code says: go test ./packaging/doctor -update")
	}
}

// A fault's name stands for one thing. It says what is wrong, and the one thing to do.
func TestFaults(t *testing.T) {
	known := map[string]string{}
	for _, c := range all() {
		if c.What == "" || len(c.Faults) == 0 || strings.ToLower(c.Name) != c.Name {
			t.Errorf("%+v", c)
		}
		for _, f := range c.Faults {
			if f.Name == "" || f.Fix == "" || !strings.HasSuffix(f.Means, ".") {
				t.Errorf("%s: %+v", c.Name, f)
			}
			if before, ok := known[f.Name]; ok && before != f.Means {
				t.Errorf("%s means two things: %q and %q", f.Name, before, f.Means)
			}
			known[f.Name] = f.Means
		}
	}
	if len(known) < 22 {
		t.Errorf("only %d faults", len(known))
	}
}

// Every fault is seeded by a test that fails unless the fault is named, and nothing else (doctortest.Alone). The fault's
// name stands in that test: one that nobody has seen may never be found, or come with others.
func TestEveryFaultIsNamedAlone(t *testing.T) {
	named, tests := map[string]bool{}, 0
	for _, dir := range []string{".", "../../agent/doctor", "../../server/doctor", "../../tunnel/doctor"} {
		err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, d := range file.Decls {
				if texts, alone := aloneIn(d); alone {
					tests++
					for _, text := range texts {
						named[text] = true
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for _, c := range all() {
		for _, f := range c.Faults {
			if seen[f.Name] = true; !named[f.Name] {
				t.Errorf("%s of %s is named alone by no test", f.Name, c.Name)
			}
		}
	}
	t.Logf("%d faults, each named alone by one of %d tests", len(seen), tests)
}

// aloneIn returns the texts of a test that calls Alone, and whether it does.
func aloneIn(d ast.Decl) (texts []string, alone bool) {
	f, ok := d.(*ast.FuncDecl)
	if !ok || !strings.HasPrefix(f.Name.Name, "Test") {
		return nil, false
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
				texts = append(texts, text)
			}
		case *ast.CallExpr:
			switch called := n.Fun.(type) {
			case *ast.Ident:
				alone = alone || called.Name == "alone"
			case *ast.SelectorExpr:
				alone = alone || called.Sel.Name == "Alone"
			}
		}
		return true
	})
	return texts, alone
}

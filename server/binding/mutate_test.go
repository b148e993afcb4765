package binding_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mutation is a defect that is put into one file, and the property that it breaks. Files that end
// in _test.go are the small world's scheduler and feeds, which the real ones will do likewise. A file
// of another folder is of a package that decides what a record is made of, and the test is there.
type mutation struct {
	what, file, old, new string
	breaks               string
}

// TestMutationsFit finds each defect's place in the code, so that the list does not rot.
func TestMutationsFit(t *testing.T) {
	for _, m := range mutations {
		source, err := os.ReadFile(m.file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), m.old); n != 1 {
			t.Errorf("%s: %s has %d times %q", m.what, m.file, n, m.old)
		}
	}
}

// TestEveryPropertyHasAMutation: a property that no defect breaks may hold nothing.
func TestEveryPropertyHasAMutation(t *testing.T) {
	broken := map[string]bool{}
	for _, m := range mutations {
		broken[m.breaks] = true
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	properties := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range property.FindAllSubmatch(source, -1) {
			properties++
			if !broken[string(found[1])] {
				t.Errorf("%s: no mutation breaks %q", file, found[1])
			}
		}
	}
	if properties < 35 {
		t.Errorf("%d properties are found: the test does not read them", properties)
	}
}

var property = regexp.MustCompile(`(?m)^(?:const|\t)\s*prop[A-Z]\w*\s*= "([^"]+)"$`)

// TestMutations puts in one defect after the other: each must break its property. It compiles the
// package for each, so it runs only when SKERRY_MUTATIONS is set; a value other than 1 selects those
// whose text has it.
func TestMutations(t *testing.T) {
	which := os.Getenv("SKERRY_MUTATIONS")
	if which == "" {
		t.Skip("SKERRY_MUTATIONS is not set")
	}
	for _, m := range mutations {
		if which != "1" && !strings.Contains(m.what, which) {
			continue
		}
		t.Run(strings.ReplaceAll(m.what, " ", "-"), func(t *testing.T) {
			if out := m.run(t); !strings.Contains(out, m.breaks+": ") {
				t.Errorf("%s: it does not break %q\n%s", m.what, m.breaks, out)
			}
		})
	}
}

// run runs the tests with the defect.
func (m mutation) run(t *testing.T) string {
	source, err := os.ReadFile(m.file)
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(m.file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, filepath.Base(m.file)), filepath.Join(dir, "overlay.json")
	text := strings.Replace(string(source), m.old, m.new, 1)
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{here: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{changed: text, overlay: string(list)} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := directed[m.breaks]
	if run == "" {
		run = "TestHistories"
	}
	args := []string{"test", "-count=1", "-vet=off", "-overlay", overlay, "-run", "^" + run + "$", "."}
	if filepath.Dir(m.file) != "." {
		args = append(args, "-rapid.checks=20000", "-rapid.nofailfile")
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = filepath.Dir(m.file)
	cmd.Env = append(os.Environ(), "SKERRY_MUTATIONS=", "SKERRY_HISTORIES=1000000", "SKERRY_PROPERTY="+m.breaks)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return "the tests pass"
	}
	return string(out)
}

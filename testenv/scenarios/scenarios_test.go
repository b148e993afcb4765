package scenarios

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func TestScenarios(t *testing.T) { Run(t, "../testdata/script") }

// TestOperators runs what needs operators of others, which take long to build: make operators.
func TestOperators(t *testing.T) {
	if os.Getenv("SKERRY_OPERATORS") == "" {
		t.Skip("SKERRY_OPERATORS is not set: run it with make operators")
	}
	Run(t, "../testdata/operators")
}

// TestComparedOperators runs operators of others at a plain cluster and at a space: make operators.
func TestComparedOperators(t *testing.T) {
	if os.Getenv("SKERRY_OPERATORS") == "" {
		t.Skip("SKERRY_OPERATORS is not set: run it with make operators")
	}
	Compare(t, "../testdata/operators/compared")
}

// TestSystemd installs packages on a Debian that systemd runs: make systemd.
func TestSystemd(t *testing.T) {
	if os.Getenv(machineVariable) == "" {
		t.Skip(machineVariable + " is not set: run it with make systemd")
	}
	Run(t, "../testdata/systemd")
}

func TestOutcomes(t *testing.T) {
	seen := &outcomes{steps: map[string]map[string]string{}}
	seen.end("b", onControl, t)
	seen.fail("b", onSpace, "3: first")
	seen.fail("b", onSpace, "4: second")
	seen.end("a", onControl, t)
	seen.end("a", onSpace, t)
	want := "operator  control  space\na         ok       ok\nb         ok       3: first\n"
	if got := seen.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSummaryHasTheEndsOfOutputs(t *testing.T) {
	seen := failures{texts: map[string]string{}, causes: map[string]string{}}
	if got := seen.summary(); got != "" {
		t.Errorf("nothing failed, but %q", got)
	}
	seen.fail("b", strings.Repeat("step\n", toldCause)+"cause")
	seen.add("b", "a warning\n")
	seen.fail("a", "cause")
	want := "\n== a\ncause\n\n== b\n" + strings.Repeat("step\n", toldCause-1) + "cause\n"
	if got := seen.summary(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStepAt(t *testing.T) {
	script := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(script, []byte("one\ntwo "+strings.Repeat("x", 100)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for number, want := range map[string]string{
		"1": "one", "2": "two " + strings.Repeat("x", 66) + "...", "0": "no line 0", "9": "no line 9",
	} {
		if got := stepAt(script, number); got != want {
			t.Errorf("stepAt(%s) = %q, want %q", number, got, want)
		}
	}
}

func TestNamespaceFor(t *testing.T) {
	for script, want := range map[string]string{
		"script-testenv_real": "t-testenv-real",
		"script-A.b":          "t-a-b",
	} {
		if got := namespaceFor(script); got != want {
			t.Errorf("namespaceFor(%q) = %q, want %q", script, got, want)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, output string
		want            bool
	}{
		{"^$", "", true},
		{"^$", "\n", true},
		{"^$", "pod/web\n", false},
		{"^yes$", "yes\n", true},
		{"^two$", "one\ntwo\nthree\n", true},
	} {
		if got := matches(regexp.MustCompile("(?m)"+c.pattern), c.output); got != c.want {
			t.Errorf("%q in %q: %v", c.pattern, c.output, got)
		}
	}
}

func TestWarnings(t *testing.T) {
	log := "level=INFO msg=a\nlevel=WARN msg=b\nlevel=ERROR msg=c\n" + strings.Repeat("level=WARN msg=d\n", toldWarnings-1)
	want := "level=ERROR msg=c\n" + strings.Repeat("level=WARN msg=d\n", toldWarnings-1)
	if got := warnings(log); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := warnings("level=INFO msg=a\n"); got != "" {
		t.Errorf("nothing was warned of, but %q", got)
	}
}

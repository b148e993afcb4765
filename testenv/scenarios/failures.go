package scenarios

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// A run prints the output of all scripts, thousands of lines. Failures are told once more at the end
// of it, where somebody looks first.

// What is told of a failed script, in lines: the end of its output, and what each of its background
// processes warned of last and said last.
const (
	toldOutput   = 40
	toldWarnings = 8
	toldEnd      = 50 // of each log
	toldCause    = 6  // in a summary
)

// failures is what is told of the scripts that failed. It may be used concurrently.
type failures struct {
	mu     sync.Mutex
	texts  map[string]string // by script
	causes map[string]string // the ends of their outputs, by script
}

// failed are those of all runs of this process.
var failed = failures{texts: map[string]string{}, causes: map[string]string{}}

func (f *failures) add(script, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.texts[script] += text
}

// fail adds the output of a script that failed.
func (f *failures) fail(script, output string) {
	f.add(script, ending(output, toldOutput))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.causes[script] = ending(output, toldCause)
}

// summary is the last lines of each script that failed.
func (f *failures) summary() string { return f.each(f.causes, "\n== %s\n%s") }

// String is empty where nothing has failed.
func (f *failures) String() string { return f.each(f.texts, "== %s failed\n%s") }

// each formats each script with its text, by name.
func (f *failures) each(texts map[string]string, format string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		fmt.Fprintf(&b, format, name, texts[name])
	}
	return b.String()
}

// Main runs the tests of a package and tells the failures of scripts at the end. It returns the exit
// code.
func Main(m *testing.M) int {
	code := m.Run()
	fmt.Fprint(os.Stderr, failed.String())
	return code
}

// script is the test of a script as testscript wants it.
type script struct{ *testing.T }

// Run runs one script.
func (s script) Run(name string, run func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { run(script{t}) })
}

// Verbose says whether the steps of scripts that succeed are logged.
func (s script) Verbose() bool { return testing.Verbose() }

// Log also keeps what tells of a failure.
func (s script) Log(args ...any) {
	s.Helper()
	s.T.Log(args...)
	if text := fmt.Sprint(args...); failedAt.MatchString(text) {
		failed.fail(s.Name(), text)
	}
}

// tellWarnings tells what the background processes of a failed script warned of last, and said last.
// They must have ended.
func (s script) tellWarnings(dir string) {
	if !s.Failed() {
		return
	}
	logs, _ := filepath.Glob(filepath.Join(dir, "*.log")) // the pattern is right
	for _, log := range logs {
		text, err := os.ReadFile(filepath.Clean(log))
		if err != nil {
			continue // a script may remove what it likes
		}
		if told := warnings(string(text)); told != "" {
			failed.add(s.Name(), "-- the last warnings in "+filepath.Base(log)+"\n"+told)
		}
		if told := ending(string(text), toldEnd); told != "" {
			failed.add(s.Name(), "-- the end of "+filepath.Base(log)+"\n"+told)
		}
	}
}

// warnings are the last lines of a log that are warnings or errors.
func warnings(log string) string {
	var lines []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") || strings.HasPrefix(line, "panic") {
			lines = append(lines, line)
		}
	}
	return ending(strings.Join(lines, ""), toldWarnings)
}

// ending is the last n lines of a text.
func ending(text string, n int) string {
	lines := slices.Collect(strings.Lines(strings.TrimRight(text, "\n") + "\n"))
	if text == "" {
		return ""
	}
	return strings.Join(lines[max(0, len(lines)-n):], "")
}

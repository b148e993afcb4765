package install

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// referenced is a command as the reference of all commands has it.
type referenced struct {
	path  []string // without the program
	takes []string // its arguments
	flags []string // with their dashes
	group bool     // it has commands below it
}

var (
	commandHeading = regexp.MustCompile(`(?m)^## skerry (.+)$`)
	flagRow        = regexp.MustCompile("(?m)^\\| `(--[a-z0-9-]+)`")
)

// readReference reads packaging/docs/reference/cli.md, which is written from the program.
func readReference(t *testing.T) (all []referenced) {
	t.Helper()
	data, err := os.ReadFile("../docs/reference/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range strings.Split(string(data), "\n## ")[1:] {
		section = "## " + section
		c := referenced{}
		for _, word := range strings.Fields(commandHeading.FindStringSubmatch(section)[1]) {
			if word == strings.ToLower(word) && !strings.ContainsAny(word, "[/") {
				c.path = append(c.path, word)
			} else {
				c.takes = append(c.takes, word)
			}
		}
		for _, m := range flagRow.FindAllStringSubmatch(section, -1) {
			c.flags = append(c.flags, m[1])
		}
		all = append(all, c)
	}
	for i := range all {
		all[i].group = slices.ContainsFunc(all, func(other referenced) bool {
			return len(other.path) > len(all[i].path) && slices.Equal(other.path[:len(all[i].path)], all[i].path)
		})
	}
	return all
}

// TestShellsEveryCommand runs the program as people mistype it, for every command that the reference
// has: each mistake is exit code 2, says what is wrong, and names the help. Help and completion know
// every command and every flag. Nothing of it reaches a center, or changes this machine.
func TestShellsEveryCommand(t *testing.T) {
	skerry := os.Getenv("SKERRY_BIN")
	if skerry == "" {
		t.Skip("SKERRY_BIN is not set: make completion")
	}
	dir := t.TempDir()
	run := func(args ...string) (out, errs string, code int) {
		t.Helper()
		c := exec.CommandContext(t.Context(), skerry, args...)
		c.Dir, c.Env = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
		var stdout, stderr bytes.Buffer
		c.Stdout, c.Stderr = &stdout, &stderr
		err := c.Run()
		var exited *exec.ExitError
		if errors.As(err, &exited) {
			return stdout.String(), stderr.String(), exited.ExitCode()
		} else if err != nil {
			t.Fatal(err)
		}
		return stdout.String(), stderr.String(), 0
	}
	all := readReference(t)
	if len(all) < 50 {
		t.Fatalf("the reference has %d commands", len(all))
	}
	below := map[string][]string{} // what is completed, by the words before it
	for _, c := range all {
		name := "skerry " + strings.Join(c.path, " ")
		refuses := func(what, says string, args ...string) {
			t.Helper()
			_, said, code := run(append(slices.Clone(c.path), args...)...)
			if code != 2 || !strings.HasPrefix(said, "skerry: ") || !strings.Contains(said, says) {
				t.Errorf("%s %s, with %s: exit code %d: %s", name, strings.Join(args, " "), what, code, said)
			}
		}
		refuses("an unknown flag", "--no-such-flag", "--no-such-flag")
		if len(c.takes) == 0 || !strings.HasSuffix(c.takes[len(c.takes)-1], "...") {
			tooMany := make([]string, len(c.takes)+1)
			for i := range tooMany {
				tooMany[i] = fmt.Sprintf("word%d", i)
			}
			refuses("an argument too many", name+" --help", tooMany...)
		}
		if slices.Contains(c.flags, "--output") && len(c.takes) == 0 && !c.group {
			refuses("an unknown format", "nosuchformat", "-o", "nosuchformat")
		}
		help, said, code := run(append(slices.Clone(c.path), "--help")...)
		if code != 0 || said != "" || !strings.Contains(help, name) {
			t.Errorf("%s --help: exit code %d: %s%s", name, code, help, said)
		}
		out, _, _ := run(slices.Concat([]string{"complete", "--"}, c.path, []string{"--"})...)
		completed := strings.Fields(out)
		for _, flag := range c.flags {
			if !strings.Contains(help, flag) {
				t.Errorf("%s --help does not have %s", name, flag)
			}
			if !slices.Contains(completed, flag) {
				t.Errorf("%s: %s is not completed: %v", name, flag, completed)
			}
		}
		group := strings.Join(c.path[:len(c.path)-1], " ")
		if below[group] == nil {
			out, _, _ = run(slices.Concat([]string{"complete", "--"}, c.path[:len(c.path)-1], []string{""})...)
			below[group] = strings.Fields(out)
		}
		if !slices.Contains(below[group], c.path[len(c.path)-1]) {
			t.Errorf("%s is not completed", name)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("what was refused left %v, %v", left, err)
	}
}

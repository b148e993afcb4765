package verify

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// referenced is a command as reference/cli.md has it, which is written from the program.
type referenced struct {
	path  []string // without skerry
	flags []string // with their dashes
	// examples are command lines to begin with.
	examples []string
}

var (
	referenceHeading = regexp.MustCompile(`(?m)^## skerry (.+)$`)
	referenceFlag    = regexp.MustCompile("`(--?[a-zA-Z0-9-]+)`")
	// inline is a command of skerry in the middle of a text.
	inline = regexp.MustCompile("`(?:sudo |\\./)?skerry ([^`]+)`")
	// word is a part of a command's name.
	word = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
)

func readReference(t *testing.T) (all []referenced) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(docsDir, "reference", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range strings.Split(string(data), "\n## ")[1:] {
		title := referenceHeading.FindStringSubmatch("## " + section)
		if title == nil {
			continue
		}
		c := referenced{}
		for _, w := range strings.Fields(title[1]) {
			if !word.MatchString(w) {
				break
			}
			c.path = append(c.path, w)
		}
		if _, rest, ok := strings.Cut(section, "\n```\n"); ok {
			block, _, _ := strings.Cut(rest, "\n```")
			c.examples = strings.Split(block, "\n")
		}
		for line := range strings.Lines(section) {
			if row, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | "); ok {
				for _, m := range referenceFlag.FindAllStringSubmatch(row, -1) {
					c.flags = append(c.flags, m[1])
				}
			}
		}
		all = append(all, c)
	}
	if len(all) < 40 {
		t.Fatalf("the reference has only %d commands: the test does not see it", len(all))
	}
	return all
}

// meant is the command that words begin with: the one with the longest name.
func meant(all []referenced, words []string) (c referenced, ok bool) {
	for _, r := range all {
		if len(r.path) <= len(words) && slices.Equal(r.path, words[:len(r.path)]) && len(r.path) > len(c.path) {
			c, ok = r, true
		}
	}
	return c, ok
}

// checkCommand holds the words of a command, without skerry, to the program. It returns the command.
func checkCommand(t *testing.T, all []referenced, path string, words []string) referenced {
	t.Helper()
	line := strings.Join(words, " ")
	c, ok := meant(all, words)
	if !ok {
		t.Errorf("%s: there is no command of `skerry %s`", path, line)
	}
	for _, w := range words {
		flag, _, _ := strings.Cut(w, "=")
		if ok && strings.HasPrefix(flag, "-") && flag != "-" && flag != "--help" && !slices.Contains(c.flags, flag) {
			t.Errorf("%s: `skerry %s`: %s has no flag %s", path, line, strings.Join(c.path, " "), flag)
		}
	}
	return c
}

// TestEveryCommandHasExamples holds each command that does something to an example in its help, and the
// examples to the program.
func TestEveryCommandHasExamples(t *testing.T) {
	all := readReference(t)
	for _, c := range all {
		group := slices.ContainsFunc(all, func(sub referenced) bool {
			return len(sub.path) > len(c.path) && slices.Equal(sub.path[:len(c.path)], c.path)
		})
		name := "skerry " + strings.Join(c.path, " ")
		if len(c.examples) == 0 && !group {
			t.Errorf("%s has no example in packaging/reference/examples.go", name)
		}
		for i, line := range c.examples {
			first, _, _ := strings.Cut(strings.TrimPrefix(line, "sudo "), " | ")
			first, _, _ = strings.Cut(first, " >")
			words := strings.Fields(first)
			if got := checkCommand(t, all, name, words[1:]); words[0] != "skerry" || !slices.Equal(got.path, c.path) {
				t.Errorf("example %d of %s is of another command: %s", i+1, name, line)
			}
		}
	}
}

// inBlock is a command of skerry in a line of a shell, up to where the shell ends it.
var inBlock = regexp.MustCompile(`(?m)(?:^|[|;(]|&&|\$\() *(?:sudo +)?(?:\./)?skerry +([^|;&>)#"\n]+)`)

// TestCommandsInBlocksExist holds the commands of skerry in the blocks of all pages to the program. Those of
// the documentation are run, too.
func TestCommandsInBlocksExist(t *testing.T) {
	all, seen := readReference(t), 0
	for _, page := range pages(t) {
		for _, m := range inBlock.FindAllStringSubmatch(blocksOf(page.text), -1) {
			words := strings.Fields(m[1])
			if word.MatchString(words[0]) {
				seen++
				checkCommand(t, all, page.path, words)
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d commands are found: the test does not see the pages", seen)
	}
	t.Logf("%d commands in blocks, all of which the program has", seen)
}

// blocksOf returns the lines of a page's blocks, fenced and indented ones, those that go on as one line.
func blocksOf(text string) string {
	var out strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		if fence.MatchString(line) {
			inside = !inside
		} else if inside || strings.HasPrefix(line, "    ") {
			out.WriteString(strings.TrimLeft(line, " "))
		}
	}
	return strings.ReplaceAll(out.String(), "\\\n", " ")
}

func TestBlocksOf(t *testing.T) {
	text := "`skerry no`\n\n    sudo skerry a \\\n      --b\n\n```sh\nx | skerry c -d && ./skerry e  # f\n```\nskerry g\n"
	var got []string
	for _, m := range inBlock.FindAllStringSubmatch(blocksOf(text), -1) {
		got = append(got, strings.Join(strings.Fields(m[1]), " "))
	}
	if want := []string{"a --b", "c -d", "e"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// page is one Markdown file for users.
type page struct{ path, text string }

// pages are those of the documentation and the examples, and the two that a newcomer reads first.
func pages(t *testing.T) (all []page) {
	t.Helper()
	add := func(path, text string) { all = append(all, page{path, text}) }
	eachText(t, docsDir, ".md", add)
	eachText(t, filepath.Join("..", "examples"), ".md", add)
	for _, name := range []string{"README.md", "CONTRIBUTING.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		add(name, string(text))
	}
	return all
}

// TestCommandsInTextsExist holds every command of skerry that a text of the documentation names to the
// program: there is such a command, and it has these flags.
func TestCommandsInTextsExist(t *testing.T) {
	all, seen := readReference(t), 0
	for _, page := range pages(t) {
		for _, m := range inline.FindAllStringSubmatch(page.text, -1) {
			words := strings.Fields(m[1])
			if len(words) == 0 || !word.MatchString(words[0]) || slices.Contains(words, "...") {
				continue
			}
			seen++
			checkCommand(t, all, page.path, words)
		}
	}
	if seen < 100 {
		t.Errorf("only %d commands are found: the test does not see the pages", seen)
	}
	t.Logf("%d commands in texts, all of which the program has", seen)
}

package verify

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	docsDir = filepath.Join("..", "docs")
	// ranPage is a line of a script that runs a page, or one section of it.
	ranPage = regexp.MustCompile(`(?m)^page (?:@\S+ )?'?([a-z-]+/[a-z0-9-]+\.md)(#[a-z0-9-]+)?`)
	// cutPage is such a line whose section the script's language takes for a comment, with all that follows.
	cutPage = regexp.MustCompile(`(?m)^page (?:@\S+ )?[^'\s]+#.*`)
	heading = regexp.MustCompile(`^#{1,6} (.*)`)
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fence   = regexp.MustCompile("^ *```(.*)")
	// hereDocument is what follows a command up to a line with its name.
	hereDocument = regexp.MustCompile(`<<-?['"]?([A-Z]+)['"]?`)
	// command is how a line begins that a reader may take for a command to paste.
	command = regexp.MustCompile(`^\$ |^(sudo |\./)?(skerry|kubectl|helm|systemctl|dpkg|apt-get|rpm|docker|podman|k3s|` +
		`openssl|tar|echo|mkdir|cp|mv|rm|curl|export) `)
)

// section is what stands below one heading of a page, without what stands below the next one.
type section struct {
	slug   string
	blocks []string // of sh, each a text of commands
	others []string // lines in other blocks that look like commands
}

// sections reads a page of Markdown.
func sections(text string) []section {
	all := []section{{}}
	language, inside := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		at := &all[len(all)-1]
		switch f := fence.FindStringSubmatch(line); {
		case f != nil:
			if inside = !inside; inside {
				if language = f[1]; language == "sh" {
					at.blocks = append(at.blocks, "")
				}
			}
		case inside && language == "sh":
			at.blocks[len(at.blocks)-1] += line + "\n"
		case inside && command.MatchString(line):
			at.others = append(at.others, line)
		case !inside && strings.HasPrefix(line, "    ") && command.MatchString(strings.TrimSpace(line)):
			at.others = append(at.others, strings.TrimSpace(line))
		case !inside && heading.MatchString(line):
			all = append(all, section{slug: slug(heading.FindStringSubmatch(line)[1])})
		}
	}
	return all
}

// slug is the name of a heading in links.
func slug(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return -1
	}, strings.ToLower(title))
}

// generated are the pages whose blocks are made from the program: TestEveryCommandHasExamples has theirs.
var generated = map[string]bool{"reference/cli.md": true}

// TestCommandsOfDocsAreRun holds every command of the documentation to a script that runs it.
func TestCommandsOfDocsAreRun(t *testing.T) {
	ran := map[string]bool{}
	eachText(t, filepath.Join("..", "..", "testenv", "testdata"), ".txt", func(path, text string) {
		for _, line := range cutPage.FindAllString(text, -1) {
			t.Errorf("%s: a script ends at the # of %q; put FILE#SECTION into quotes", path, line)
		}
		for _, m := range ranPage.FindAllStringSubmatch(text, -1) {
			ran[m[1]+m[2]] = true
		}
	})
	total, lines := 0, 0
	for _, dir := range directories(t) {
		eachText(t, filepath.Join(docsDir, dir), ".md", func(path, text string) {
			page := dir + "/" + filepath.Base(path)
			if generated[page] {
				return
			}
			for _, s := range sections(text) {
				for _, line := range s.others {
					t.Errorf("%s: %q looks like a command; put it into a block of sh, which a test runs", page, line)
				}
				total += len(s.blocks)
				for _, block := range s.blocks {
					lines += commandsOf(block)
				}
				if len(s.blocks) > 0 && !ran[page] && !ran[page+"#"+s.slug] {
					t.Errorf("%s: no script of testenv/testdata runs the commands of %q", page, s.slug)
				}
			}
		})
	}
	if total < 20 {
		t.Errorf("only %d blocks of commands are found: the test does not see the pages", total)
	}
	t.Logf("%d commands in %d blocks, all run by scripts", lines, total)
}

// directories are those of the documentation, all of them: a new one is not forgotten.
func directories(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(docsDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// commandsOf counts the commands of a block: its lines, but for comments, what continues a line, and
// what a command reads (here-documents, and texts in quotes).
func commandsOf(block string) (n int) {
	until, quoted, continued := "", false, false
	for line := range strings.Lines(block) {
		text := strings.TrimSpace(line)
		switch {
		case until != "":
			if text == until {
				until = ""
			}
			continue
		case text == "", !quoted && strings.HasPrefix(text, "#"):
			continue
		case !quoted && !continued:
			n++
		}
		continued = strings.HasSuffix(text, `\`)
		if strings.Count(text, "'")%2 == 1 {
			quoted = !quoted
		}
		if m := hereDocument.FindStringSubmatch(text); m != nil && !quoted {
			until = m[1]
		}
	}
	return n
}

func TestCommandsOf(t *testing.T) {
	const block = "# none\none a \\\n  b\ntwo <<'END'\nnot one\nEND\nthree -p '\nspec:\n  a: b'\nfour | five\n"
	if n := commandsOf(block); n != 4 {
		t.Errorf("%d commands, want 4", n)
	}
}

// TestLinksOfDocs follows every link of the Markdown files to a file, and to a heading in it.
func TestLinksOfDocs(t *testing.T) {
	links := 0
	eachText(t, filepath.Join("..", ".."), ".md", func(path, text string) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			links++
			to := path
			if target != "" {
				to = filepath.Join(filepath.Dir(path), target)
			}
			content, err := os.ReadFile(to)
			if info, statErr := os.Stat(to); statErr != nil {
				t.Errorf("%s: %s is not there", path, m[1])
				continue
			} else if info.IsDir() || anchor == "" {
				continue
			}
			if err != nil || !hasHeading(string(content), anchor) {
				t.Errorf("%s: %s has no heading #%s", path, target, anchor)
			}
		}
	})
	if links < 50 {
		t.Errorf("only %d links are found: the test does not see the pages", links)
	}
}

func hasHeading(text, anchor string) bool {
	for _, s := range sections(text) {
		if s.slug == anchor {
			return true
		}
	}
	return false
}

// TestExamplesAreListed holds the list of examples to the files.
func TestExamplesAreListed(t *testing.T) {
	dir := filepath.Join("..", "examples")
	list, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	eachText(t, dir, ".yaml", func(path, _ string) {
		name, err := filepath.Rel(dir, path)
		if err != nil || !strings.Contains(string(list), "]("+name+")") {
			t.Errorf("packaging/examples/README.md does not list %s", path)
		}
	})
}

// eachText calls look with every file below dir whose name ends with suffix, but for what is built.
func eachText(t *testing.T, dir, suffix string, look func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "bin" || entry.Name() == ".git") {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, suffix) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil {
			look(path, string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

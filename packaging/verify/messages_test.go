package verify

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// named is a command of skerry in a message, up to two words of its name.
var named = regexp.MustCompile(`\bskerry ([a-z]+(?:-[a-z]+)*)(?: ([a-z]+(?:-[a-z]+)*))?`)

// prose are words that follow the name of the program, or of a command, and name no command. Some are
// hidden commands, labels of keys and names of the protocol.
var prose = []string{"is", "came", "did", "knows", "waits", "works", "kubectl-skerry", "complete", "wake", "replica",
	"shared", "wrapped", "seal", "or", "under", "on", "at", "there", "of", "files", "ready", "cannot", "needs", "gateway", "says"}

// TestCommandsInMessagesExist holds every command of skerry that a text of the program names to the
// program: who does what a message says finds a command.
func TestCommandsInMessagesExist(t *testing.T) {
	all, seen := readReference(t), 0
	eachFile(t, func(t *testing.T, path string, source []byte) {
		if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testenv/") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range textsOf(file) {
			for _, words := range named.FindAllStringSubmatch(text, -1) {
				seen++
				if slices.Contains(prose, words[1]) {
					continue
				}
				if slices.Contains(prose, words[2]) {
					words[2] = ""
				}
				if !isCommand(all, words[1], words[2]) {
					t.Errorf("%s: there is no command %q: %q", path, words[0], text)
				}
			}
		}
	})
	if seen < 200 {
		t.Errorf("only %d commands are found: the test does not see the messages", seen)
	}
	t.Logf("%d commands in messages, all of which the program has", seen)
}

// isCommand reports whether the program has a command of one or two words. Behind one that has commands
// below it any other word would be taken for one of those.
func isCommand(all []referenced, first, second string) bool {
	group := false
	for _, c := range all {
		if c.path[0] != first {
			continue
		}
		if len(c.path) == 1 && second == "" || len(c.path) > 1 && c.path[1] == second {
			return true
		}
		group = group || len(c.path) > 1
	}
	_, known := meant(all, []string{first})
	return known && (!group || second == "")
}

func TestUnknownCommandIsFound(t *testing.T) {
	all := readReference(t)
	for command, want := range map[string]bool{
		"agent join": false, "agent check": true, "agent": true, "space": true, "space use": true, "status paris": true,
		"target revive": false, "join": false, "center backup": true,
	} {
		first, second, _ := strings.Cut(command, " ")
		if isCommand(all, first, second) != want {
			t.Errorf("skerry %s: want %v", command, want)
		}
	}
}

// textsOf returns the texts of a file, those that are added up as one.
func textsOf(file *ast.File) (texts []string) {
	var inside []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok || slices.Contains(inside, n) {
			return true
		}
		text, parts := added(e)
		if text != "" {
			texts, inside = append(texts, text), append(inside, parts...)
		}
		return true
	})
	return texts
}

// added is the text of a constant expression, with every expression in it. What is no text is a gap.
func added(e ast.Expr) (text string, parts []ast.Node) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ = strconv.Unquote(e.Value)
		}
		return text, []ast.Node{e}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			left, some := added(e.X)
			right, more := added(e.Y)
			if left+right == "" {
				return "", nil
			}
			return left + right, append(append(some, more...), e)
		}
	case *ast.Ident, *ast.SelectorExpr, *ast.CallExpr:
		return "", nil
	}
	return "", nil
}

package commandline

import (
	"os/exec"
	"testing"
)

// A shell gives back what was written as one word.
func TestWord(t *testing.T) {
	for argument, want := range map[string]string{
		"/backup/monday.skerry": "/backup/monday.skerry", "s3://b/p": "s3://b/p", "a b": "'a b'", "": "''",
		"it's": `'it'\''s'`, "~x": "'~x'", "$HOME": "'$HOME'", "a;b": "'a;b'", "über": "'über'",
	} {
		got := Word(argument)
		if got != want {
			t.Errorf("%q is written %s, want %s", argument, got, want)
		}
		out, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+got).Output()
		if err != nil || string(out) != argument {
			t.Errorf("a shell takes %s for %q, %v", got, out, err)
		}
	}
}

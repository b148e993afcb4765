package enroll

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadToken(t *testing.T) {
	token := NewToken(strings.Repeat("0a", 32)).String()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, x := range []struct {
		what, file, stdin, want string
		wrong                   bool
	}{
		{what: "a file", file: write("token", token+"\n"), want: token},
		{what: "standard input", file: "-", stdin: "  " + token + "\r\n", want: token},
		{what: "a file that is gone", file: filepath.Join(dir, "none")},
		{what: "an empty file", file: write("empty", "\n")},
		{what: "nothing on standard input", file: "-"},
		{what: "half a token", file: write("half", token[:40]), wrong: true},
		{what: "an endless file", file: "-", stdin: strings.Repeat(token, 100), wrong: true},
	} {
		got, err := ReadToken(x.file, strings.NewReader(x.stdin))
		if got != x.want || errors.Is(err, ErrTokenFormat) != x.wrong {
			t.Errorf("%s: %q %v", x.what, got, err)
		}
	}
	if _, err := ReadToken(dir, nil); err == nil {
		t.Error("a folder was read")
	}
}

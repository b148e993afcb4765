package agent

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/tunnel/tunneltest"
)

// A token file that somebody named and that has none is said, unless the site needs no token any more.
func TestTokenFile(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	token := func(file string) (string, error) {
		set := flag.NewFlagSet("agent", flag.ContinueOnError)
		for name, value := range map[string]string{"token-file": file, "token": "", "data-dir": dir} {
			set.String(name, value, "")
		}
		return TokenOf(cli.NewContext(nil, set, nil), "", func(text string, _ ...any) error { return errors.New(text) })
	}
	for _, file := range []string{empty, filepath.Join(dir, "nosuch")} {
		_, err := token(file)
		if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "skerry token create -o token >"+file) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if _, err := token(""); err != nil {
		t.Errorf("no token file: %v", err)
	}
	tunneltest.NewCenter(t).Enrol(t, dir, "paris")
	if got, err := token(empty); got != "" || err != nil {
		t.Errorf("a site that has joined: %q, %v", got, err)
	}
}

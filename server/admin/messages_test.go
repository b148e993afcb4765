package admin

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/tunnel/commandline"
	"skerry.dev/skerry/tunnel/tunneltest"
)

// What a user can cause is said in one line, with its cause and what to do.
func TestMessages(t *testing.T) {
	gone := tunneltest.AnyPort() // nobody answers there
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(`{"apiVersion":"v1","kind":"Config","current-context":"root",
		"clusters":[{"name":"c","cluster":{"server":"https://`+gone+`"}}],
		"contexts":[{"name":"root","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := "cannot reach center " + gone + " (context root): connection refused; " +
		"is this its address, and does it run? There see: systemctl status skerry-center"
	long := strings.Repeat("a", 64)
	name := `: use lower-case letters, digits and '-', at most 63`
	for line, want := range map[string]string{
		"space create Shop_1":         `space name "Shop_1"` + name,
		"space create " + long:        `space name "` + long + `"` + name,
		"space create a.b":            `space name "a.b"` + name,
		"space create root":           `space name "root": it is the admin's own space and always exists; use another name`,
		"space create shop":           refused,
		"space import Shop_1 -f file": `space name "Shop_1"` + name,
		"space list":                  refused,
		"space users shop":            refused,
		"status":                      refused,
		"target accept lisbon":        refused,
		"target remove lisbon":        refused,
		"space create":                "the name of the space is required; see: skerry space create --help",
		"status --kubeconfig nosuch.k": "read kubeconfig nosuch.k: open nosuch.k: no such file or directory; " +
			"name another with --kubeconfig FILE or KUBECONFIG",
	} {
		words := append([]string{"skerry"}, strings.Fields(line)...)
		if !strings.Contains(line, "--kubeconfig") {
			words = append(words, "--kubeconfig", kubeconfig)
		}
		app := &cli.App{Name: "skerry", Writer: io.Discard, ExitErrHandler: func(*cli.Context, error) {},
			Commands: []*cli.Command{SpaceCommand(), StatusCommand(), TargetCommand()}}
		if got := text(Plain(app.RunContext(context.Background(), commandline.FlagsFirst(app, words)))); got != want {
			t.Errorf("skerry %s\n got %s\nwant %s", line, got, want)
		}
	}
	denied := &fs.PathError{Op: "open", Path: "k", Err: fs.ErrPermission}
	if got := text(wrapRead("k", denied)); !strings.Contains(got, "; its owner may read it (sudo), or name another with --kubeconfig FILE or KUBECONFIG") {
		t.Errorf("another user's kubeconfig: %s", got)
	}
	err := confirm(AcceptOptions{In: strings.NewReader("y")}, 1)
	if text(err) != "not a terminal: add --yes or --dry-run" || !errors.Is(err, ErrUsage) {
		t.Errorf("without a terminal: %v", err)
	}
	held := &heldTarget{}
	held.Deletions = 17
	if got := accepted(held); got != "accepted; 17 deletions left" {
		t.Error(got)
	}
}

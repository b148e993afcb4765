package admin

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/server/admin/credential"
	"skerry.dev/skerry/server/admin/credential/signin"
	"skerry.dev/skerry/tunnel/commandline"
)

// What a user can cause with logins, groups and credentials is said in one line.
func TestMessagesOfLogins(t *testing.T) {
	home := at(t)
	kubeconfig := filepath.Join(home, "kubeconfig")
	write(t, kubeconfig, oneContext("root", "https://127.0.0.1:1"))
	for line, want := range map[string]string{
		"space use shop --center a/b": `--center: name of a center "a/b": ` +
			`use letters, digits, '-', '.', '_' and ':', at most 253`,
		"space grant shop": `--user or --group is required: whose rights in space "shop"; ` +
			`see: skerry space grant --help`,
		"space grant shop --user a --group b": "--user and --group: give one of them; see: skerry space grant --help",
		"space grant shop --group devs": "cannot reach center 127.0.0.1:1 (context root): connection refused; " +
			"is this its address, and does it run? There see: systemctl status skerry-center",
		"space kubeconfig shop --issuer http://x --client-id y": `--issuer "http://x": ` +
			`write the https:// URL of the provider`,
		"space kubeconfig shop --issuer https://x": "--client-id is missing: what skerry is called at https://x",
		"space kubeconfig shop --issuer https://x --client-id y --user u": "--user and --issuer: a kubeconfig " +
			"for people of a provider is nobody's own; give rights with: skerry space grant shop",
		"login": `context "root" in ` + kubeconfig + " has no OIDC provider; name it: skerry login --issuer URL " +
			"--client-id ID",
		"login --issuer https://x --client-id y --issuer-ca nosuch": "read --issuer-ca: open nosuch: " +
			"no such file or directory",
		"login --issuer https://127.0.0.1:1 --client-id y": "ask https://127.0.0.1:1 how to log in: connection refused; is --issuer " +
			"right, and does this machine reach it? See: curl https://127.0.0.1:1/.well-known/openid-configuration",
	} {
		words := append(append([]string{"skerry"}, strings.Fields(line)...), "--kubeconfig", kubeconfig)
		app := &cli.App{Name: "skerry", Writer: io.Discard, ExitErrHandler: func(*cli.Context, error) {},
			Commands: []*cli.Command{SpaceCommand(), LoginCommand()}}
		if got := text(Plain(app.RunContext(context.Background(), commandline.FlagsFirst(app, words)))); got != want {
			t.Errorf("skerry %s\n got %s\nwant %s", line, got, want)
		}
	}
}

// What a login is not told by flags it takes from the kubeconfig, as messages of the plugin need it.
func TestLoginFindsTheProvider(t *testing.T) {
	home := at(t)
	kubeconfig := filepath.Join(home, "kubeconfig")
	known := signin.Provider{Issuer: "https://a", ClientID: "b", CA: "PEM", Scopes: []string{"email"}}
	config := oneContext("eu/shop", "https://127.0.0.1:1")
	config.AuthInfos["eu/shop"] = credential.Portable(known.Args()...)
	write(t, kubeconfig, config)
	for line, ca := range map[string]string{
		"login": "PEM", "login --issuer https://a --client-id b": "PEM", "login --issuer https://other --client-id b": "",
	} {
		var got signin.Provider
		login := LoginCommand()
		login.Action = func(c *cli.Context) (err error) { got, err = providerOf(c); return err }
		app := &cli.App{Name: "skerry", Writer: io.Discard, Commands: []*cli.Command{login}}
		words := append(append([]string{"skerry"}, strings.Fields(line)...), "--kubeconfig", kubeconfig)
		if err := app.RunContext(context.Background(), words); err != nil || got.CA != ca || got.Issuer == "" {
			t.Errorf("skerry %s: %+v, %v", line, got, err)
		}
	}
}

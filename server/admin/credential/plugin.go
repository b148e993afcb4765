package credential

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"
	clientauthentication "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/rest"
	execauth "k8s.io/client-go/tools/auth/exec"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"skerry.dev/skerry/server/admin/credential/signin"
)

// hint is what kubectl says when the plugin is not found.
const hint = "this context gets its credentials from skerry, which is not installed on this machine, or not in PATH"

// Plugin is a user entry of a kubeconfig that runs `skerry credential` with these arguments.
func Plugin(args ...string) *clientcmdapi.AuthInfo {
	return &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
		APIVersion: clientauthentication.SchemeGroupVersion.String(), Command: program(),
		Args: append([]string{"credential"}, args...), InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
		ProvideClusterInfo: true, InstallHint: hint,
	}}
}

// Portable is Plugin for a kubeconfig that goes to other machines.
func Portable(args ...string) *clientcmdapi.AuthInfo {
	user := Plugin(args...)
	user.Exec.Command = "skerry"
	return user
}

// PluginArgs returns the arguments of Plugin, at least one. It is false for another user entry.
func PluginArgs(user *clientcmdapi.AuthInfo) ([]string, bool) {
	if user.Exec == nil || len(user.Exec.Args) < 2 || user.Exec.Args[0] != "credential" ||
		!strings.HasSuffix(filepath.Base(user.Exec.Command), "skerry") {
		return nil, false
	}
	return user.Exec.Args[1:], true
}

// program is how a kubeconfig names this program: skerry, or its path where PATH has none or another.
func program() string {
	self, err := os.Executable()
	if err != nil {
		return "skerry"
	}
	if found, err := exec.LookPath("skerry"); err == nil && sameFile(found, self) {
		return "skerry"
	}
	return self
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, missing := os.Stat(b)
	return err == nil && missing == nil && os.SameFile(x, y)
}

// Command is `skerry credential`. usage makes the error of a wrong command line.
func Command(usage func(format string, args ...any) error) *cli.Command {
	return &cli.Command{
		Name:      "credential",
		Usage:     "print credentials for kubectl, as a kubeconfig of skerry space use has it do",
		ArgsUsage: "CENTER[/SPACE]",
		Flags:     signin.Flags(),
		Action: func(c *cli.Context) error {
			// Without the variable, a person runs it: the credential is printed, and not renewed.
			_, center, err := execauth.LoadExecCredentialFromEnv()
			if err != nil && os.Getenv("KUBERNETES_EXEC_INFO") != "" {
				return fmt.Errorf("read KUBERNETES_EXEC_INFO: %w", err)
			}
			if c.IsSet(signin.IssuerFlag) {
				return printSignedIn(c, center, usage)
			}
			if c.NArg() != 1 {
				return usage("skerry credential needs one argument, CENTER/SPACE, or --%s; it is kubectl that runs it: "+
					"see skerry space use --help", signin.IssuerFlag)
			}
			n, err := ParseName(c.Args().First())
			if err != nil {
				return usage("%s", err)
			}
			store, err := OwnStore()
			if err != nil {
				return err
			}
			return store.Serve(c.Context, n, center, os.Getppid(), c.App.Writer)
		},
	}
}

// printSignedIn prints the token of an OIDC provider. center is the API that it is for, nil for none.
func printSignedIn(c *cli.Context, center *rest.Config, usage func(format string, args ...any) error) error {
	p, err := signin.FromFlags(c, usage)
	if err != nil {
		return err
	}
	store, err := OwnStore()
	if err != nil {
		return err
	}
	token, expires, err := p.Token(c.Context, store.Dir)
	if err != nil {
		return err
	}
	if name := c.Args().First(); center != nil && name != "" && CheckCenter(name) == nil {
		store.look(c.Context, name, center)
	}
	return PrintExec(c.App.Writer, signin.Status(token, expires))
}

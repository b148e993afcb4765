package agent

import (
	_ "embed"

	"github.com/urfave/cli/v2"
)

//go:embed rbac.yaml
var rbacManifest string

// RBACCommand is `skerry agent rbac`. Usage makes the error of a command line that cannot be meant.
func RBACCommand(usage func(format string, args ...any) error) *cli.Command {
	return &cli.Command{
		Name:  "rbac",
		Usage: "print the least rights that an agent needs at its cluster: skerry agent rbac | kubectl apply -f -",
		Flags: []cli.Flag{spacesNamespaceFlag()},
		Action: func(c *cli.Context) error {
			spaces, err := SpacesNamespaceOf(c, usage)
			if err != nil {
				return err
			}
			_, err = c.App.Writer.Write([]byte(rbacFor(spaces)))
			return err
		},
	}
}

package agent

import (
	_ "embed"

	"github.com/urfave/cli/v2"
)

//go:embed rbac.yaml
var rbacManifest string

// RBACCommand is `skerry agent rbac`.
func RBACCommand() *cli.Command {
	return &cli.Command{
		Name: "rbac", Usage: "print the least rights that an agent needs at its cluster: skerry agent rbac | kubectl apply -f -",
		Action: func(c *cli.Context) error {
			_, err := c.App.Writer.Write([]byte(rbacManifest))
			return err
		},
	}
}

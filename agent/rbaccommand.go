package agent

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"skerry.dev/skerry/agent/policy"
)

//go:embed rbac.yaml
var rbacManifest string

// RBACCommand is `skerry agent rbac`. Usage makes the error of a command line that cannot be meant.
// Before reads the configuration file, which may have the other flags of an agent, too.
func RBACCommand(
	usage func(format string, args ...any) error, others []cli.Flag, before cli.BeforeFunc,
) *cli.Command {
	hideAllBut(others, "config")
	allow := AllowFlags()
	hideAllBut(allow, "policy", spacesFlag, "allow-logs", "allow-exec", "allow-port-forward", "allow-pod-writes")
	return &cli.Command{
		Name: "rbac",
		Usage: "print the least rights that an agent with these flags needs at its cluster: " +
			"skerry agent rbac | kubectl apply -f -",
		Flags:  append(allow, others...),
		Before: before,
		Action: func(c *cli.Context) error {
			spaces, err := SpacesNamespaceOf(c, usage)
			if err != nil {
				return err
			}
			allow, err := AllowOf(c, usage)
			if err != nil {
				return err
			}
			p, err := policy.Compile(allow, nil)
			if err != nil {
				return usage("allow: %s", err)
			}
			_, err = c.App.Writer.Write([]byte(without(rbacFor(spaces), p.ClosedResources())))
			return err
		},
	}
}

// intoPods begins a rule of the manifest about what is below Pods; such a rule is one line.
const intoPods = `- {apiGroups: [""], resources: [pods/`

// without is the manifest without the rights to some resources below Pods.
func without(manifest string, resources []string) string {
	var out strings.Builder
	for line := range strings.Lines(manifest) {
		list, found := strings.CutPrefix(line, intoPods)
		list, rest, _ := strings.Cut(list, "]")
		if !found {
			out.WriteString(line)
			continue
		}
		left := slices.DeleteFunc(strings.Split("pods/"+list, ", "), func(resource string) bool {
			return slices.Contains(resources, resource)
		})
		if len(left) > 0 {
			out.WriteString(strings.TrimSuffix(intoPods, "pods/") + strings.Join(left, ", ") + "]" + rest)
		}
	}
	return out.String()
}

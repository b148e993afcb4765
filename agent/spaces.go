package agent

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
	"k8s.io/apimachinery/pkg/util/validation"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// owner is whose spaces this agent writes for: the center that its copy is of, and those that it
// followed before. AnnotationCenter is not the SyncTarget's UID, which is another one when the site is
// removed and joins anew.
func (a *agent) owner() target.SpacesOwner {
	o := target.SpacesOwner{Site: a.Name}
	if len(a.Parents) > 0 {
		o.Site += " of " + a.Parents[0]
	}
	copied := a.desired.Position().Incarnation
	for _, center := range append([]store.Incarnation{copied}, a.identity.centers()...) {
		if !center.IsZero() {
			o.Centers = append(o.Centers, center.String())
		}
	}
	return o
}

const spacesFlag = "spaces-namespace"

// spacesPrefix begins the name of every namespace of accounts: no space gets a namespace of such a
// name, so none can make accounts there.
const spacesPrefix = "skerry-"

func spacesNamespaceFlag() cli.Flag {
	return &cli.StringFlag{Name: spacesFlag, Value: target.DefaultSpaces,
		EnvVars: []string{"SKERRY_SPACES_NAMESPACE"}, Category: "What spaces may do here",
		Usage: "namespace of the cluster with the ServiceAccounts of spaces, skerry-NAME; agents of two " +
			"centers at one cluster need one each, and the rights that " +
			"skerry agent rbac --spaces-namespace NAME prints"}
}

// SpacesNamespaceOf reads the flag. A name that it may not have is an error that usage makes.
func SpacesNamespaceOf(c *cli.Context, usage func(format string, args ...any) error) (string, error) {
	name := cmp.Or(c.String(spacesFlag), target.DefaultSpaces)
	if !strings.HasPrefix(name, spacesPrefix) || name == "skerry-system" || len(validation.IsDNS1123Label(name)) > 0 {
		return "", usage("--%s %q: give skerry-NAME, of lower-case letters, digits and '-', at most 63 "+
			"characters, and not skerry-system, which is the agent's own", spacesFlag, name)
	}
	return name, nil
}

// rbacFor is the manifest of the rights that an agent needs, with a namespace of accounts.
func rbacFor(spaces string) string {
	if spaces == target.DefaultSpaces {
		return rbacManifest
	}
	named := func(format string) (from, to string) {
		return fmt.Sprintf(format, target.DefaultSpaces), fmt.Sprintf(format, spaces)
	}
	name, asName := named("metadata: {name: %s}")
	namespace, asNamespace := named("namespace: %s}")
	return strings.NewReplacer(name, asName, namespace, asNamespace).Replace(rbacManifest)
}

package placement

import (
	"fmt"
	"strings"
)

// MostMirrored is the number of targets up to which a space shows the Pods of a placed object. Beyond
// it they are shown live, of one target at a time: a space that mirrored all of them would be written
// whenever a Pod of any of thousands of sites changes.
const MostMirrored = 10

// Elsewhere says to who looks for Pods that those of some objects are not in the space, and how to
// see them. It is empty where there are none.
func Elsewhere(space string, of []Located) string {
	if len(of) == 0 {
		return ""
	}
	var names []string
	for _, o := range of[:min(len(of), 3)] {
		names = append(names, fmt.Sprintf("%s/%s in %s (%d targets)",
			o.Key.Resource, o.Key.Name, o.Key.Namespace, len(o.Targets)))
	}
	if more := len(of) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("the Pods of %s are not shown here: a space shows those of what is on at most %d targets. "+
		"See one target's, with logs, exec and port-forward, after: skerry space use %s --at %s",
		strings.Join(names, ", "), MostMirrored, space, of[0].Targets[0])
}

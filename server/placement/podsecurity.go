package placement

import "strings"

// SecurityLevel is the Pod Security level to which a target keeps the Pods of a space: restricted,
// baseline or privileged. A relay has none, since its own sites decide.
type SecurityLevel struct {
	Target, Level string
	Relay         bool
}

// LevelOf returns the level of a space in a list of status.policy of a SyncTarget: LEVEL for all
// spaces, SPACE=LEVEL where one has another. It is empty where the list says nothing.
func LevelOf(space string, list []string) (level string) {
	for _, entry := range list {
		of, its, named := strings.Cut(entry, "=")
		switch {
		case !named && level == "":
			level = entry
		case named && of == space:
			return its
		}
	}
	return level
}

package storage

import (
	"strings"
)

// GroupIn returns the API group that a path below /apis/ names.
func GroupIn(path string) string {
	group, _, _ := strings.Cut(strings.TrimPrefix(path, "/apis/"), "/")
	return group
}

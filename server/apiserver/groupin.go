package apiserver

import (
	"strings"
)

// groupIn is the API group that a path below /apis/ names.
func groupIn(path string) string {
	group, _, _ := strings.Cut(strings.TrimPrefix(path, "/apis/"), "/")
	return group
}

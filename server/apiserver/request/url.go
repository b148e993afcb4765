package request

import (
	"strings"
)

// URLPrefix stands before the space's name in a URL.
const URLPrefix = "/clusters/"

// ViewPrefix precedes the path of targets in the URL of a live view, within a space's API.
const ViewPrefix = "/targets/"

// URL returns the URL of a space's kube API, given the center's own URL.
func URL(external, space string) string {
	if space == RootSpace {
		return external
	}
	return external + URLPrefix + space
}

// Split returns the space that a URL path names, and the path within its API.
func Split(path string) (space, rest string) {
	below, ok := strings.CutPrefix(path, URLPrefix)
	if !ok {
		return RootSpace, path
	}
	space, rest, _ = strings.Cut(below, "/")
	return space, "/" + rest
}

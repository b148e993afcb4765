package request

import (
	"strings"
)

// URLPrefix stands before the space's name in a URL.
const URLPrefix = "/clusters/"

// ViewPrefix stands in a space's API before the path of targets whose live view is asked for.
const ViewPrefix = "/targets/"

// URL is where a space's kube API is found, given the center's own URL.
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

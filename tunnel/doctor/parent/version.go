package parent

import (
	"context"
	"fmt"
	"strings"

	"skerry.dev/skerry/tunnel/doctor"
)

// compareVersions: the parent first, and at most one minor version apart.
func (w *way) compareVersions(context.Context) []doctor.Finding {
	switch skew, known := Skew(w.Version, w.center); {
	case !known:
		return one(doctor.Good("here %s, the parent %s", shown(w.Version), shown(w.center)))
	case skew > 0:
		return one(versionNewer.Fails("here %s, the parent %s", w.Version, w.center))
	case skew < -1:
		return one(versionOlder.Fails("here %s, the parent %s", w.Version, w.center))
	default:
		return one(doctor.Good("here %s, the parent %s", w.Version, w.center))
	}
}

// Skew returns by how many minor versions one is ahead of another, negative if it is behind. A
// major version counts as a thousand. It is false where one of them is no release.
func Skew(a, b string) (minors int, known bool) {
	va, okA := release(a)
	vb, okB := release(b)
	return va - vb, okA && okB
}

// release reads v1.2.3, with whatever follows.
func release(v string) (minors int, ok bool) {
	var major, minor, patch int
	n, _ := fmt.Sscanf(strings.TrimPrefix(v, "v"), "%d.%d.%d", &major, &minor, &patch)
	return major*1000 + minor, n == 3 && major >= 0 && minor >= 0
}

func shown(version string) string {
	if version == "" {
		return "unknown"
	}
	return version
}

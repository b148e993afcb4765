package placement

import (
	"strings"
	"testing"

	"skerry.dev/skerry/store"
)

func TestHosts(t *testing.T) {
	type m = map[string]any
	set := store.Key{Space: "shop", Group: "apps", Resource: "statefulsets", Namespace: "app", Name: "db"}
	long, other := set, set
	long.Name, other.Resource = strings.Repeat("x", 62), "deployments"
	governed := m{"spec": m{"serviceName": "db-hl"}}
	for name, c := range map[string]struct {
		key      store.Key
		obj      m
		replicas int64
		want     string
	}{
		"three":            {set, governed, 3, "db-{0..2}"},
		"none":             {set, governed, 0, ""},
		"from another one": {set, m{"spec": m{"serviceName": "db-hl", "ordinals": m{"start": int64(5)}}}, 2, "db-{5..6}"},
		"of no Service":    {set, m{"spec": m{}}, 3, ""},
		"a Deployment":     {other, governed, 3, ""},
		"too long a name":  {long, governed, 3, ""},
	} {
		got := HostsOf(c.key, c.obj, c.replicas)
		if (got == nil) != (c.want == "") || got != nil && *got != (Hosts{"db-hl", c.want}) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

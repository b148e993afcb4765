package registrykey

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/store"
)

var prefixes = map[string]schema.GroupResource{
	"deployments":    {Group: "apps", Resource: "deployments"},
	"services/specs": {Resource: "services"},
	"namespaces":     {Resource: "namespaces"},
	"apiextensions.k8s.io/customresourcedefinitions": {
		Group:    "apiextensions.k8s.io",
		Resource: "customresourcedefinitions",
	},
}

func TestParse(t *testing.T) {
	for key, want := range map[string]store.Key{
		"/registry/deployments/team/default/web": {
			Space:     "team",
			Group:     "apps",
			Resource:  "deployments",
			Namespace: "default",
			Name:      "web",
		},
		"/registry/services/specs/team/default/web": {Space: "team", Resource: "services", Namespace: "default", Name: "web"},
		"/registry/namespaces/team/default":         {Space: "team", Resource: "namespaces", Name: "default"},
		"/registry/example.com/widgets/team/default/w": {
			Space:     "team",
			Group:     "example.com",
			Resource:  "widgets",
			Namespace: "default",
			Name:      "w",
		},
		"/registry/skerry.dev/placements/team/p": {
			Space:    "team",
			Group:    "skerry.dev",
			Resource: "placements",
			Name:     "p",
		},
		"/registry/health":                 {},
		"/registry/unknown/team/x":         {},
		"/registry/deployments/team":       {},
		"/registry/deployments/team/a/b/c": {},
		"compact_rev_key":                  {},
		"/registry/apiextensions.k8s.io/customresourcedefinitions/skerry.dev/spaces.skerry.dev": {},
	} {
		got, ok := Parse(prefixes, key)
		if ok != (want != store.Key{}) || (ok && got != want) {
			t.Errorf("%s: %v %v", key, got, ok)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add([]byte("k8s\x00..."), "/registry/pods/team/default/a")
	f.Add([]byte("\x00skk\xff\xff\xff\xff"), "")
	f.Fuzz(func(t *testing.T, data []byte, key string) {
		if _, rest := Cut(data); len(rest) > len(data) {
			t.Errorf("%d bytes of %d", len(rest), len(data))
		}
		if gotKey, rest := Cut(Put([]byte(key), data)); gotKey != key || string(rest) != string(data) {
			t.Errorf("round trip of %q %q: %q %q", key, data, gotKey, rest)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("/registry/deployments/team/default/web")
	f.Add("/registry/example.com/widgets/team/w")
	f.Fuzz(func(t *testing.T, key string) {
		k, ok := Parse(prefixes, key)
		if !ok {
			return
		}
		if err := k.Validate(); err != nil || !strings.Contains(key, "/"+k.Space+"/") {
			t.Errorf("%q: %v %v", key, k, err)
		}
	})
}

package apiserver

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/value"

	"skerry.dev/skerry/store"
)

var prefixes = map[string]schema.GroupResource{
	"deployments":    {Group: "apps", Resource: "deployments"},
	"services/specs": {Resource: "services"},
	"namespaces":     {Resource: "namespaces"},
	"apiextensions.k8s.io/customresourcedefinitions": crdResource,
}

func TestParseKey(t *testing.T) {
	for key, want := range map[string]store.Key{
		"/registry/deployments/team/default/web":       {Space: "team", Group: "apps", Resource: "deployments", Namespace: "default", Name: "web"},
		"/registry/services/specs/team/default/web":    {Space: "team", Resource: "services", Namespace: "default", Name: "web"},
		"/registry/namespaces/team/default":            {Space: "team", Resource: "namespaces", Name: "default"},
		"/registry/example.com/widgets/team/default/w": {Space: "team", Group: "example.com", Resource: "widgets", Namespace: "default", Name: "w"},
		"/registry/skerry.dev/placements/team/p":       {Space: "team", Group: "skerry.dev", Resource: "placements", Name: "p"},
		"/registry/health":                             {},
		"/registry/unknown/team/x":                     {},
		"/registry/deployments/team":                   {},
		"/registry/deployments/team/a/b/c":             {},
		"compact_rev_key":                              {},
		"/registry/apiextensions.k8s.io/customresourcedefinitions/skerry.dev/spaces.skerry.dev": {},
	} {
		got, ok := parseKey(prefixes, key)
		if ok != (want != store.Key{}) || (ok && got != want) {
			t.Errorf("%s: %v %v", key, got, ok)
		}
	}
}

func TestSplit(t *testing.T) {
	for path, want := range map[string][2]string{
		"/api/v1/pods":               {"root", "/api/v1/pods"},
		"/clusters/team/api/v1/pods": {"team", "/api/v1/pods"},
		"/clusters/team":             {"team", "/"},
		"/clusters/":                 {"", "/"},
		"/clusters/*/apis":           {"*", "/apis"},
		"/clustersx/team/apis":       {"root", "/clustersx/team/apis"},
	} {
		if space, rest := split(path); space != want[0] || rest != want[1] {
			t.Errorf("%s: %q %q", path, space, rest)
		}
	}
}

// TestSpaceInKey checks that nothing reaches the database without its space.
func TestSpaceInKey(t *testing.T) {
	s := &spaceStorage{prefix: "/pods"}
	in := func(space string) context.Context { return withSpace(t.Context(), space) }
	for _, x := range []struct {
		ctx       context.Context
		key, want string
	}{
		{in("team"), "/pods/default/a", "/pods/team/default/a"},
		{in("team"), "/pods", "/pods/team/"},
		{in("team"), "/pods/", "/pods/team/"},
		{in("team"), "/podsecurity/a", ""},
		{in("*"), "/pods", "/pods"},
		{in("*"), "/pods/", "/pods/"},
		{in("*"), "/pods/team", ""}, // would be read as the space of that name
		{t.Context(), "/pods/default/a", ""},
	} {
		_, _, got, err := s.key(x.ctx, x.key)
		if got != x.want || (err != nil) != (x.want == "") {
			t.Errorf("%s in %q: %q, %v", x.key, spaceOf(x.ctx), got, err)
		}
	}
	if _, _, _, err := s.key(t.Context(), "/pods/a"); !errors.Is(err, errNoSpace) {
		t.Errorf("no space: %v", err)
	}
	if _, _, _, err := s.one(in("*"), "/pods/a"); err == nil {
		t.Error("one object of all spaces")
	}
	only := &spaceStorage{prefix: "/x", only: "team"}
	if _, _, got, err := only.key(t.Context(), "/x/a"); got != "/x/team/a" || err != nil {
		t.Errorf("custom resources without a space: %q %v", got, err)
	}
	if _, _, _, err := only.key(in("team-b"), "/x/a"); err == nil {
		t.Error("custom resources of another space")
	}
}

func FuzzCutKey(f *testing.F) {
	f.Add([]byte("k8s\x00..."), "/registry/pods/team/default/a")
	f.Add([]byte("\x00skk\xff\xff\xff\xff"), "")
	f.Fuzz(func(t *testing.T, data []byte, key string) {
		if _, rest := cutKey(data); len(rest) > len(data) {
			t.Errorf("%d bytes of %d", len(rest), len(data))
		}
		out, _, err := keyTransformer{}.TransformFromStorage(t.Context(), data, value.DefaultContext(key))
		if err != nil {
			t.Fatal(err)
		}
		if gotKey, rest := cutKey(out); gotKey != key || string(rest) != string(data) {
			t.Errorf("round trip of %q %q: %q %q", key, data, gotKey, rest)
		}
	})
}

func FuzzParseKey(f *testing.F) {
	f.Add("/registry/deployments/team/default/web")
	f.Add("/registry/example.com/widgets/team/w")
	f.Fuzz(func(t *testing.T, key string) {
		k, ok := parseKey(prefixes, key)
		if !ok {
			return
		}
		if err := k.Validate(); err != nil || !strings.Contains(key, "/"+k.Space+"/") {
			t.Errorf("%q: %v %v", key, k, err)
		}
	})
}

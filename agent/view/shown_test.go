package view

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/targettest"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// TestShown: what is in the space's own namespaces, under the space's names of them.
func TestShown(t *testing.T) {
	for _, prefix := range []string{"", "shop-"} {
		for name, c := range map[string]struct {
			request *exchange.Request
			asked   string // the last request, with web and db under their names there
			body    []string
		}{
			"list": {pods("shop", "db", "labelSelector", "a=b", "limit", "5", "fieldSelector",
				"metadata.namespace=db,spec.nodeName=n"),
				"/api/v1/namespaces/<db>/pods?fieldSelector=metadata.namespace%3D<db>%2Cspec.nodeName%3Dn" +
					"&labelSelector=a%3Db&limit=5",
				[]string{`"namespace":"db"`, `"resourceVersion":"7"`, "12345678901234567"}},
			"get": {pods("shop", "web", "name", "one"), "/api/v1/namespaces/<web>/pods/one",
				[]string{`"namespace":"web"`, `"name":"one"`}},
			"watch": {pods("shop", "web", "watch", "1"), "/api/v1/namespaces/<web>/pods?watch=true",
				[]string{`"ADDED"`, `"namespace":"web"`}},
			"group": {view("shop", "web", "group", "apps", "version", "v1", "resource", "deployments", "name", "x"),
				"/apis/apps/v1/namespaces/<web>/deployments/x", []string{`"name":"x"`}},
			"all": {pods("shop", "", "limit", "1", "resourceVersion", "0"),
				"/api/v1/namespaces/<web>/pods?continue=next&limit=500",
				[]string{`"kind":"PodList"`, `"namespace":"web"`, `"namespace":"db"`, `"name":"one"`,
					`"name":"two"`, "12345678901234567"}},
			"all of some": {pods("shop", "", "among", "db", "among", "team"),
				"/api/v1/namespaces/<db>/pods?limit=500", []string{`"namespace":"db"`}},
			"groups":  {view("shop", "", "document", "apis", "form", "aggregated"), "/apis", []string{"APIGroupDiscoveryList"}},
			"schemas": {view("shop", "", "document", "openapi/v3"), "/openapi/v3", []string{`{"paths":{}}`}},
			"schema": {view("shop", "", "document", "openapi/v3", "group", "apps", "version", "v1"),
				"/openapi/v3/apis/apps/v1", nil},
		} {
			t.Run(name+" "+prefix, func(t *testing.T) {
				at := newCluster(t, prefix)
				code, body := ask(t, at.site(t), c.request)
				if code != 200 || len(at.asked) == 0 {
					t.Fatalf("%d: %s", code, body)
				}
				want := "GET " + strings.NewReplacer("<web>", prefix+"web", "<db>", prefix+"db").
					Replace(c.asked)
				if name == "schema" {
					want = at.asked[0] // the fake cluster has no schema: its path is looked at below
					if !strings.HasSuffix(want, c.asked) {
						t.Errorf("asked %s", want)
					}
				}
				if got := at.asked[len(at.asked)-1]; got != want {
					t.Errorf("asked %s, want %s", got, want)
				}
				for _, part := range c.body {
					if !strings.Contains(body, part) {
						t.Errorf("%s is not in %s", part, body)
					}
				}
				if prefix != "" && strings.Contains(body, `"`+prefix) {
					t.Errorf("the cluster's names: %s", body)
				}
			})
		}
	}
}

// TestBounds: a joined list is held in memory, and refused beyond its bound.
func TestBounds(t *testing.T) {
	if _, err := whole(
		strings.NewReader("12345"),
		4,
	); err == nil ||
		exchange.FaultOf(err).Code != 413 {
		t.Errorf("%v", err)
	}
	if text, err := whole(strings.NewReader("1234"), 4); err != nil || string(text) != "1234" {
		t.Errorf("%s, %v", text, err)
	}
}

// TestRelay: a relay goes by the path, and asks for no namespace that it did not get from its parent.
func TestRelay(t *testing.T) {
	for name, c := range map[string]struct {
		request *exchange.Request
		path    []string
		code    int
		among   []string
	}{
		"a namespace":     {pods("shop", "web"), []string{"oslo"}, 200, nil},
		"all namespaces":  {pods("shop", ""), []string{"oslo"}, 200, []string{"web"}},
		"all, and some":   {pods("shop", "", "among", "web", "among", "db"), []string{"oslo"}, 200, []string{"web"}},
		"all, and no own": {pods("shop", "", "among", "db"), []string{"oslo"}, 404, nil},
		"the relay's own": {pods("shop", "db"), []string{"oslo"}, 404, nil},
		"the relay's own by name": {view("shop", "", "version", "v1", "resource", "namespaces", "name",
			"db"), []string{"oslo"}, 404, nil},
		"another space's":  {pods("nobody", "web"), []string{"oslo"}, 404, nil},
		"a document":       {view("shop", "", "document", "apis"), []string{"oslo"}, 200, nil},
		"the relay itself": {pods("shop", "web"), nil, 404, nil},
		"below a cluster":  {pods("shop", "web"), []string{"oslo", "edge"}, 404, nil},
	} {
		t.Run(name, func(t *testing.T) {
			at := newCluster(t, "")
			own := &cluster{records: maps.Clone(at.records)}
			maps.DeleteFunc(
				own.records,
				func(k store.Key, _ inventory.Record) bool { return k.Name != "web" },
			)
			below := &targettest.Children{Answer: at.site(t).Answer}
			c.request.Path = c.path
			relay := &Relay{Client: at.site(t).Client, Records: own, Pods: at, Children: below}
			code, body := ask(t, relay, c.request)
			if code != c.code {
				t.Fatalf("%d: %s", code, body)
			}
			opened := below.Opened()
			if code != 200 && len(c.path) < 2 && len(opened) > 0 {
				t.Errorf("%v is asked", opened)
			}
			if code == 200 &&
				(!slices.Equal(opened, c.path[:1]) || !slices.Equal(below.Last().Query["among"], c.among)) {
				t.Errorf("%v is asked for %v", opened, below.Last().Query)
			}
		})
	}
}

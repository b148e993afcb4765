package view

import (
	"strings"
	"testing"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// TestANamespaceThatWasThereBefore: of one that may hold what is the site's, that is shown which is known to be
// the space's.
func TestANamespaceThatWasThereBefore(t *testing.T) {
	for _, prefix := range []string{"", "shop-"} {
		for name, c := range map[string]struct {
			request *exchange.Request
			code    int
			warned  bool
			shown   int // times that the name of the space's own stands there
		}{
			"list":              {pods("shop", "lent"), 200, true, 1},
			"table":             {pods("shop", "lent", "form", "table", "includeObject", "None"), 200, true, 1},
			"get":               {pods("shop", "lent", "name", "one"), 200, false, 1},
			"get of the site's": {pods("shop", "lent", "name", "strange"), 404, false, 0},
			"get of nothing":    {pods("shop", "lent", "name", "nobody"), 404, false, 0},
			"get of what was placed": {view("shop", "lent", "version", "v1", "resource", "configmaps", "name", "one"),
				200, false, 1},
			"watch":           {pods("shop", "lent", "watch", "true"), 200, true, 2},
			"all":             {pods("shop", "", "among", "lent"), 200, true, 1},
			"all, as a table": {pods("shop", "", "among", "lent", "form", "table"), 200, true, 1},
		} {
			t.Run(name+" "+prefix, func(t *testing.T) {
				at := newCluster(t, prefix)
				at.records[store.Key{Space: "shop", Resource: "configmaps", Namespace: "lent", Name: "one"}] =
					inventory.Record{UID: "u-one"}
				s := at.site(t)
				code, body := ask(t, s, c.request)
				if code != c.code || strings.Contains(body, "u-strange") || strings.Contains(body, "remaining") {
					t.Fatalf("%d: %s", code, body)
				}
				if n := strings.Count(body, `"u-one"`); n != c.shown || n > 0 && !strings.Contains(body, `"namespace":"lent"`) {
					t.Errorf("it is shown %d times: %s", n, body)
				}
				for _, asked := range at.asked {
					if strings.Contains(asked, "includeObject") {
						t.Errorf("what is returned cannot be looked at: %s", asked)
					}
				}
				if code != 200 {
					return
				}
				resp, err := s.Answer(t.Context(), c.request)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if warned := len(exchange.Warnings(resp.Header)) > 0; warned != c.warned {
					t.Errorf("a warning: %v", exchange.Warnings(resp.Header))
				}
			})
		}
	}
	at := newCluster(t, "")
	_, site := ask(t, at.site(t), pods("shop", "lent", "name", "strange"))
	_, none := ask(t, at.site(t), pods("shop", "lent", "name", "nobody"))
	if strings.ReplaceAll(site, "strange", "nobody") != none {
		t.Errorf("it tells what the site has: %q, and of nothing %q", site, none)
	}
}

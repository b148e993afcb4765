package admin

import "testing"

// TestAt: a path of targets goes into the URL and the name of the context as it is, and nothing else
// does.
func TestAt(t *testing.T) {
	for at, want := range map[string][2]string{
		"":         {"https://c:7443/clusters/shop", "shop"},
		"paris":    {"https://c:7443/clusters/shop/targets/paris", "shop@paris"},
		"eu/paris": {"https://c:7443/clusters/shop/targets/eu/paris", "shop@eu/paris"},
		"api":      {"https://c:7443/clusters/shop/targets/api", "shop@api"},
	} {
		if err := checkAt(at); err != nil {
			t.Errorf("%q: %v", at, err)
		}
		if u, name := urlAt(
			"https://c:7443/clusters/shop",
			at,
		), contextAt(
			"shop",
			at,
		); u != want[0] ||
			name != want[1] {
			t.Errorf("%q: %s, %s", at, u, name)
		}
	}
	for _, at := range []string{
		"/",
		"eu/",
		"/eu",
		"eu//paris",
		"..",
		"eu/../x",
		"EU",
		"eu?x",
		"eu%2fparis",
		"eu/api",
		"a b",
	} {
		if checkAt(at) == nil {
			t.Errorf("%q passes", at)
		}
	}
}

package apply

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/variants"
	"skerry.dev/skerry/store"
)

// A site, and a relay, get their share of divided replicas, and nothing before it is known which
// share is theirs.
func TestATargetTakesItsShare(t *testing.T) {
	body := `{"metadata":{"annotations":{"skerry.dev/shares":"{\"paris\":2,\"oslo\":1}"}},"spec":{"replicas":3}}`
	k := key("deployments", "n", "web")
	k.Group = "apps"
	e := store.Entry{Key: k, Hash: store.HashBody(1, []byte(body)), Body: []byte(body)}
	for _, relay := range []bool{false, true} {
		name := ""
		a := New(Config{
			Relay: relay, Variants: variants.New(variants.Config{}), Self: func() []string { return named(name) },
			Log: slog.New(slog.DiscardHandler),
		})
		var later *laterError
		if _, err := a.vary(e, inventory.Record{}); !errors.As(err, &later) {
			t.Errorf("relay %t: without a name the error is %v", relay, err)
		}
		for of, want := range map[string]string{"paris": `"replicas":2`, "oslo": `"replicas":1`, "nyc": `"replicas":0`} {
			name = of
			v, err := a.vary(e, inventory.Record{Applied: e.Hash})
			if err != nil || !strings.Contains(string(v.Body), want) || strings.Contains(string(v.Body), "shares") {
				t.Errorf("relay %t: %s gets %s (%v)", relay, of, v.Body, err)
			}
			if v.Hash != store.HashBody(0, v.Body) || len(v.By) > 0 {
				t.Errorf("relay %t: the share of %s is no variant of its own", relay, of)
			}
		}
	}
}

func named(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

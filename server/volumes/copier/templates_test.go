package copier

import (
	"strings"
	"testing"
)

func TestWhichTemplateMadeAClaim(t *testing.T) {
	templates := map[string]map[string]any{"data": {"a": 1}, "data-my": {"b": 1}}
	for _, c := range []struct {
		claim, set string
		made       bool
	}{
		{"data-db-0", "db", true}, {"data-db-12", "db", true}, {"data-my-db-0", "db", true}, {"data-my-db-0", "my-db", true},
		{"data-db", "db", false}, {"data-db-x", "db", false}, {"other-db-0", "db", false}, {"data-db-0", "db2", false}, {"", "", false},
		{"data-db--1", "db", false},
	} {
		if _, made := templateOf(c.claim, c.set, templates); made != c.made {
			t.Errorf("%s of %s: %t", c.claim, c.set, made)
		}
	}
}

func TestWhatIsNotCopied(t *testing.T) {
	for _, c := range []struct {
		spec map[string]any
		why  string
	}{
		{map[string]any{"accessModes": []any{"ReadWriteOnce"}}, ""},
		{map[string]any{"accessModes": []any{"ReadWriteMany", "ReadWriteOnce"}, "volumeMode": "Filesystem"}, ""},
		{map[string]any{"accessModes": []any{"ReadWriteOncePod"}}, "one Pod alone"},
		{map[string]any{"volumeMode": "Block"}, "raw block"},
	} {
		err := copyable("data", c.spec)
		if (err == nil) != (c.why == "") || err != nil && !strings.Contains(err.Error(), c.why) {
			t.Errorf("%v: %v, want %q", c.spec, err, c.why)
		}
	}
}

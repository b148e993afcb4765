package store

import "testing"

func TestWhichTemplateMadeAClaim(t *testing.T) {
	for _, c := range []struct {
		claim, set, template string
		made                 bool
	}{
		{"data-db-0", "db", "data", true}, {"data-db-12", "db", "data", true}, {"data-my-db-0", "db", "data-my", true},
		{"data-my-db-0", "my-db", "data", true}, {"a-db-x-db-0", "db", "a-db-x", true},
		{"data-db", "db", "", false}, {"data-db-x", "db", "", false}, {"data-db-0", "db2", "", false}, {"", "", "", false},
		{"data-db--1", "db", "", false},
	} {
		template, made := ClaimTemplate(c.claim, c.set)
		if made != c.made || made && template != c.template {
			t.Errorf("%s of %s: %q, %t", c.claim, c.set, template, made)
		}
	}
}

package datadir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name  string
		files []string
		part  Part
		is    Part // whose it is instead; "" for none
	}{
		{"empty", nil, Center, ""},
		{"own", []string{"pki", "state.db"}, Center, ""},
		{"a replica's, with its data elsewhere", []string{"pki"}, Center, ""},
		{"own", []string{"agent.db"}, Agent, ""},
		{"of a center", []string{"lock", "pki", "state.db"}, Agent, Center},
		{"of a center without keys", []string{"state.db"}, Agent, Center},
		{"of an agent", []string{"agent.key", "agent.db"}, Center, Agent},
		{"of an agent that lost its store", []string{"agent.key"}, Center, Agent},
		{"shared since long", []string{"agent.key", "pki"}, Agent, ""},
		{"shared since long", []string{"agent.key", "pki"}, Center, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range c.files {
				if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := Check(dir, c.part)
			var other *OtherError
			switch {
			case c.is == "" && err != nil:
				t.Error(err)
			case c.is != "" && (!errors.As(err, &other) || other.Is != c.is):
				t.Errorf("%v, want the directory of the %s", err, c.is)
			case c.is != "" && !strings.Contains(err.Error(), "--data-dir"):
				t.Errorf("%q does not say what to do", err)
			}
		})
	}
	if err := Check(filepath.Join(t.TempDir(), "nosuch"), Center); err != nil {
		t.Error(err)
	}
}

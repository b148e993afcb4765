package admin

import (
	"errors"
	"io"
	"testing"

	"github.com/urfave/cli/v2"
)

// The variables of a center that are set for one of its commands are judged by that command alone.
func TestReplicaFlags(t *testing.T) {
	run := func(arguments ...string) error {
		nothing := func(*cli.Context) error { return nil }
		app := &cli.App{Name: "skerry", Writer: io.Discard, ErrWriter: io.Discard, Commands: []*cli.Command{{
			Name: "center", Flags: ReplicaFlags(), Action: nothing,
			Subcommands: []*cli.Command{{Name: "backup", Action: nothing}},
		}}}
		return app.Run(append([]string{"skerry", "center"}, arguments...))
	}
	for _, c := range []struct {
		name      string
		variables map[string]string
	}{
		{"files without an etcd", map[string]string{"SKERRY_DATASTORE_CA_FILE": "ca.crt"}},
		{"a datastore without its secret", map[string]string{"SKERRY_DATASTORE_ENDPOINT": "https://db:2379"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range c.variables {
				t.Setenv(name, value)
			}
			if err := run(); !errors.Is(err, ErrUsage) {
				t.Errorf("a center starts: %v", err)
			}
			if err := run("backup", "file"); err != nil {
				t.Errorf("its backup is refused: %v", err)
			}
		})
	}
}

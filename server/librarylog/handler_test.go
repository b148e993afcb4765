package librarylog

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
)

// TestLibrariesSay: what concerns no admin is no error, whatever a library calls it.
func TestLibrariesSay(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	stop()
	const conflict = `Operation cannot be fulfilled on namespaces "web": the object has been modified; ` +
		"please apply your changes to the latest version and try again"
	for name, c := range map[string]struct {
		run          context.Context
		message, err string
		want         string
	}{
		"a failure":            {t.Context(), "cannot list", "connection refused", "level=ERROR"},
		"a client that left":   {t.Context(), "cannot write", "client disconnected", ""},
		"a race":               {t.Context(), "Couldn't update status condition for namespace", conflict, ""},
		"a request given up":   {t.Context(), "Timeout or abort while handling", "", "level=WARN"},
		"a wrong token":        {t.Context(), "Unable to authenticate the request", "expired", "level=WARN"},
		"a process that stops": {stopped, "cannot list", "connection refused", ""},
	} {
		var out bytes.Buffer
		log := slog.New(NewHandler(c.run, slog.NewTextHandler(&out, nil), slog.LevelWarn))
		log.Error(c.message, "err", c.err)
		if got := out.String(); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

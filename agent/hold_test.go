package agent

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skerry.dev/skerry/tunnel"
)

func TestAFileHoldsReleases(t *testing.T) {
	a := &agent{Config: Config{DataDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)}}
	path := filepath.Join(a.DataDir, HoldFile)
	said := func() string {
		a.lookForHold()
		all, _ := a.conditions.All()
		for _, c := range all.Conditions {
			if c.Type == tunnel.TakesReleases {
				return c.Status + " " + c.Reason + " " + c.Message
			}
		}
		return ""
	}
	if is := said(); is != "" {
		t.Errorf("without a file: %s", is)
	}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	want := "False HeldAtSite the file " + path + " holds releases at the site; to take them again remove it there; " +
		"it holds what Placements with rollout.type Progressive place here; what others place has no releases and goes on " +
		"to change at once"
	if is := said(); is != want {
		t.Errorf("an empty file: %s", is)
	}
	write("  harvest until Friday\nask Jane\n" + strings.Repeat("x", 1000))
	if is := said(); !strings.Contains(is, "at the site: harvest until Friday; to take") {
		t.Errorf("a file with a reason: %s", is)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if is := said(); is != "" {
		t.Errorf("the file is gone: %s", is)
	}
	if err := os.Mkdir(path, 0o700); err != nil { // a file that cannot be read
		t.Fatal(err)
	}
	if is := said(); !strings.HasPrefix(is, "False HeldAtSite") {
		t.Errorf("what cannot be read: %s", is)
	}
}

package tiers

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"skerry.dev/skerry/tunnel/exchange"
)

// readLog reads the log of the Pod at the end of a path of targets.
func (c *tier) readLog(t *testing.T, path ...string) (string, error) {
	resp, err := c.shares.Do(t.Context(), path[0], &exchange.Request{Space: space, Namespace: "app", Pod: "web-1",
		UID: "u-pod", Verb: exchange.Log, Path: path[1:]})
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(string(text))
	}
	return string(text), err
}

// What spec.allow of a relay's SyncTarget closes, is closed below it, at every tier by the one that has the
// SyncTarget, and nobody is asked.
func TestARelayThatIsClosed(t *testing.T) {
	f := newFleet(t)
	f["edge"].runs(t, f["edge"].greets)
	f["edge"].api.Handle(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/pods/web-1/log") {
			return false
		}
		_, _ = io.WriteString(w, "a line")
		return true
	})
	for _, c := range []struct {
		at, closed string // by which tier
		way, says  string
	}{
		{"top", "south/logs", "top>nordic nordic>deep deep>edge", ""},
		{"top", "nordic/exec", "top>nordic nordic>deep deep>edge", ""},
		{"top", "nordic/logs", "", "spec.allow.logs of SyncTarget nordic is false"},
		{"nordic", "deep/logs", "top>nordic", "spec.allow.logs of SyncTarget deep is false"},
		{"deep", "edge/logs", "top>nordic nordic>deep", "spec.allow.logs of SyncTarget edge is false"},
	} {
		f[c.at].closed = []string{c.closed}
		text, err := f["top"].readLog(t, "nordic", "deep", "edge")
		switch {
		case c.says == "" && (err != nil || text != "a line"):
			t.Errorf("%s of %s: %q, %v", c.closed, c.at, text, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s of %s: %q, %v", c.closed, c.at, text, err)
		}
		if way := joined(f["top"].log.take()); way != c.way {
			t.Errorf("%s of %s: asked %s, want %s", c.closed, c.at, way, c.way)
		}
		f[c.at].closed = nil
	}
}

package librarylog

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"k8s.io/klog/v2"
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
		"a failure":          {t.Context(), "cannot list", "connection refused", "level=ERROR"},
		"a client that left": {t.Context(), "cannot write", "client disconnected", ""},
		"a race":             {t.Context(), "Couldn't update status condition for namespace", conflict, ""},
		"a request given up": {t.Context(), "Timeout or abort while handling", "", "level=WARN"},
		"a late answer": {t.Context(), "Unhandled Error",
			"FinishRequest: post-timeout activity - time-elapsed: 1ms, panicked: false, err: context canceled",
			"level=WARN"},
		"an answer that nobody waits for": {t.Context(), "Unhandled Error",
			"apiserver was unable to write a JSON response: http: Handler timeout", "level=WARN"},
		"a wrong token":        {t.Context(), "Unable to authenticate the request", "expired", "level=WARN"},
		"an etcd's leader":     {t.Context(), "watch chan error: etcdserver: no leader", "", ""},
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

func TestACommandDoesNotShowWhatLibrariesLog(t *testing.T) {
	var out bytes.Buffer
	klog.SetOutput(&out)
	klog.LogToStderr(false)
	Silence()
	klog.ErrorS(errors.New("context deadline exceeded"), "Unexpected error when reading response body")
	klog.Flush()
	if out.Len() > 0 {
		t.Errorf("it shows %s", &out)
	}
	var told bytes.Buffer
	TakeOver(t.Context(), slog.NewTextHandler(&told, nil), slog.LevelWarn)
	klog.ErrorS(errors.New("closed"), "cannot go on")
	if !strings.Contains(told.String(), "cannot go on") {
		t.Errorf("after TakeOver it says %q", told.String())
	}
}

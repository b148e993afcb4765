package podexec

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
)

// What is said of a copy is what the end says that has ended it, in its own words.
func TestWhichEndOfACopyFailed(t *testing.T) {
	end := func(pod, says string, err error) *running {
		e := &running{End: End{Pod: pod, Command: []string{"/skerry"}}, said: &said{}, err: err}
		_, _ = e.said.Write([]byte(says))
		return e
	}
	exit := exec.CodeExitError{Err: errors.New("command terminated with exit code 1"), Code: 1}
	for _, c := range []struct {
		from, to *running
		want     string
	}{
		{end("a", "all sent\n", nil), end("b", "", nil), ""},
		{end("a", "the copy differs", exit), end("b", "read from the other side: EOF\n", exit), "pod a: the copy differs"},
		{end("a", "", context.Canceled), end("b", "no space left\n", exit), "pod b: no space left"},
		{end("a", "10 files\n", context.Canceled), end("b", "", errors.New("pods \"b\" not found")), `pod b: pods "b" not found`},
		{end("a", "", exit), end("b", "", context.Canceled), "must have the program /skerry"},
	} {
		err := whyEnded(c.from, c.to)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// writes is a program that writes a text again and again until n times are over, or its context ends.
type writes struct {
	text string
	n    int
}

func (w writes) Stream(o remotecommand.StreamOptions) error {
	return w.StreamWithContext(context.Background(), o)
}

func (w writes) StreamWithContext(ctx context.Context, o remotecommand.StreamOptions) error {
	for range w.n {
		_, _ = io.WriteString(o.Stdout, w.text) // a site goes on, whoever listens
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// A Pod that writes without an end takes no memory, and ends what is asked of it.
func TestWhatAProgramWritesIsBounded(t *testing.T) {
	client, err := rest.RESTClientFor(&rest.Config{Host: "http://space", APIPath: "/api", ContentConfig: rest.ContentConfig{
		GroupVersion: &corev1.SchemeGroupVersion, NegotiatedSerializer: scheme.Codecs}})
	if err != nil {
		t.Fatal(err)
	}
	run := func(w writes) (string, error) {
		executor := func(*rest.Request) (remotecommand.Executor, error) { return w, nil }
		return Run(t.Context(), client, executor, End{Namespace: "app", Pod: "mover", Command: []string{"/skerry"}})
	}
	if text, err := run(writes{"round", 2}); err != nil || text != "roundround" {
		t.Errorf("%q, %v", text, err)
	}
	text, err := run(writes{strings.Repeat("x", 4096), 1 << 14})
	if err == nil || !strings.Contains(err.Error(), "pod mover: it writes more than") || text != "" {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

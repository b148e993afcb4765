package podexec

import (
	"context"
	"errors"
	"strings"
	"testing"

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

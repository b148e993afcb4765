// Package podexec connects programs in two Pods of a space, wherever they run, by `exec`.
package podexec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
)

// End is a program in the first container of a Pod that is one end of a copy.
type End struct {
	Namespace, Pod string
	Command        []string
	// Tell, unless nil, is called with each line that it writes to standard error.
	Tell func(line string)
}

// Executor makes what runs a command in a Pod, whose exec subresource a request has.
type Executor func(*rest.Request) (remotecommand.Executor, error)

// Join runs both ends of a copy and connects them until both have ended. It returns the last line that the sender
// wrote to standard error, and the error of the end that failed first.
func Join(ctx context.Context, client rest.Interface, executor Executor, from, to End) (string, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	a, b := &running{End: from, said: &said{tell: from.Tell}}, &running{End: to, said: &said{tell: to.Tell}}
	down, toDown := io.Pipe()
	up, toUp := io.Pipe()
	var both sync.WaitGroup
	run := func(r *running, in *io.PipeReader, out *io.PipeWriter) {
		both.Go(func() {
			if r.err = r.run(ctx, client, executor, in, out); r.err != nil {
				stop()
			}
			// Neither end waits for the other one after that.
			out.CloseWithError(io.EOF)
			in.CloseWithError(io.ErrClosedPipe)
		})
	}
	run(a, up, toDown)
	run(b, down, toUp)
	both.Wait()
	return a.said.last(), whyEnded(a, b)
}

// Run runs a program that needs no input, and returns what it writes to standard output, maxOut bytes at most.
func Run(ctx context.Context, client rest.Interface, executor Executor, is End) (string, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r, out := &running{End: is, said: &said{tell: is.Tell}}, &output{full: stop}
	r.err = r.run(ctx, client, executor, strings.NewReader(""), out)
	text, whole := out.text()
	if !whole {
		return "", fmt.Errorf("pod %s: it writes more than %d bytes", is.Pod, maxOut)
	}
	return text, whyEnded(r, r)
}

// maxOut bounds what a program may write to standard output: what runs in the Pod is whatever its space and its site
// make of it.
const maxOut = 64 << 10

// output takes what a program writes. It calls full for what is too much, of which it keeps nothing.
type output struct {
	full func()
	mu   sync.Mutex
	is   strings.Builder
	over bool
}

// Write implements io.Writer.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over = o.over || o.is.Len()+len(b) > maxOut; o.over {
		o.full()
		return 0, io.ErrShortWrite
	}
	return o.is.Write(b)
}

// text is what was written; whole is false where it was too much.
func (o *output) text() (text string, whole bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.is.String(), !o.over
}

// running is an End that runs.
type running struct {
	End
	said *said
	err  error
}

func (r *running) run(
	ctx context.Context, client rest.Interface, executor Executor, in io.Reader, out io.Writer,
) error {
	e, err := executor(client.Post().Namespace(r.Namespace).Resource("pods").Name(r.Pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: r.Command, Stdin: true, Stdout: true, Stderr: true},
			scheme.ParameterCodec))
	if err != nil {
		return fmt.Errorf("reach the Pods: %w", err)
	}
	return e.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: untilClosed{in}, Stdout: out, Stderr: r.said})
}

// untilClosed reads nothing more where the other end is gone: that is said already.
type untilClosed struct{ io.Reader }

func (u untilClosed) Read(b []byte) (int, error) {
	n, err := u.Reader.Read(b)
	if errors.Is(err, io.ErrClosedPipe) {
		err = io.EOF
	}
	return n, err
}

// whyEnded is why a copy has ended, nil when it is whole. The sender hears what the receiver has to say, and who
// was cancelled has only followed the other one.
func whyEnded(from, to *running) error {
	r := from
	if from.err == nil || errors.Is(from.err, context.Canceled) && to.err != nil {
		r = to
	}
	var exit exec.CodeExitError
	switch text := r.said.last(); {
	case r.err == nil:
		return nil
	case errors.As(r.err, &exit) && text != "":
		return fmt.Errorf("pod %s: %s", r.Pod, text)
	case errors.Is(r.err, context.Canceled):
		return r.err
	default:
		return fmt.Errorf("pod %s: %w; its image must have the program %s", r.Pod, r.err, r.Command[0])
	}
}

// said is what a program says on standard error, of which the last line counts. It tells each line.
type said struct {
	tell func(string)

	mu   sync.Mutex
	rest string // of a line that has not ended
	line string
}

// maxSaid bounds a line.
const maxSaid = 4096

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := strings.Split(s.rest+string(b), "\n")
	for _, line := range lines[:len(lines)-1] {
		if line = strings.TrimSpace(line); line != "" {
			s.line = line[:min(len(line), maxSaid)]
			if s.tell != nil {
				s.tell(s.line)
			}
		}
	}
	s.rest = lines[len(lines)-1]
	s.rest = s.rest[:min(len(s.rest), maxSaid)]
	return len(b), nil
}

func (s *said) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimSpace(cmp.Or(strings.TrimSpace(s.rest), s.line))
}

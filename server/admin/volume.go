package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"
)

// CopyVolumeCommand is `skerry volume copy`.
func CopyVolumeCommand() *cli.Command {
	return &cli.Command{
		Name: "copy",
		Usage: "make the directory of one Pod like that of another, at whatever site either is; only what differs is sent, " +
			"and the copy is read back",
		ArgsUsage: "POD:DIR POD:DIR",
		Flags: ClientFlags(
			QuietFlag(),
			&cli.StringFlag{Name: "space", Usage: "of the Pods (default: that of the kubeconfig)"},
			&cli.StringFlag{Name: "namespace", Aliases: []string{"n"},
				Usage: "of the Pods (default: that of the current context)"},
			&cli.StringFlag{Name: "program", Value: "/skerry", Usage: "path of the program in the Pods, there in its image"},
			&cli.BoolFlag{Name: "live", Usage: "the workload goes on writing: the copy is not compared at the end. The last " +
				"round, when it has stopped, sends little then"},
		),
		Action: func(c *cli.Context) error {
			if c.NArg() != 2 {
				return Usage("give two directories: %s POD:DIR POD:DIR", c.Command.HelpName)
			}
			o := CopyVolumeOptions{
				Kubeconfig: c.String("kubeconfig"), Space: c.String("space"), Namespace: c.String("namespace"),
				Program: c.String("program"), Live: c.Bool("live"), Progress: NewProgress(c), Out: c.App.Writer,
			}
			var err error
			if o.From, err = podDir(c.Args().Get(0)); err != nil {
				return err
			}
			if o.To, err = podDir(c.Args().Get(1)); err != nil {
				return err
			}
			if o.From == o.To {
				return Usage("%s: a directory is like itself already: name another Pod or another directory", c.Args().Get(0))
			}
			return CopyVolume(c.Context, o)
		},
	}
}

// PodDir is a directory in a Pod's first container.
type PodDir struct{ Pod, Dir string }

func podDir(text string) (PodDir, error) {
	pod, dir, ok := strings.Cut(text, ":")
	if pod = strings.TrimPrefix(pod, "pod/"); !ok || pod == "" || !strings.HasPrefix(dir, "/") {
		return PodDir{}, Usage("%q: write POD:DIR with an absolute path, such as db-0:/data", text)
	}
	return PodDir{pod, dir}, nil
}

// CopyVolumeOptions configure CopyVolume. From and To are required.
type CopyVolumeOptions struct {
	Kubeconfig string
	// Space of the Pods, and Namespace in it; empty means those of the current context.
	Space, Namespace string
	From, To         PodDir
	// Program is the path of skerry in both Pods.
	Program  string
	Live     bool
	Progress *Progress
	Out      io.Writer
}

// CopyVolume runs one end of a copy in each of two Pods, and connects them.
func CopyVolume(ctx context.Context, o CopyVolumeOptions) error {
	config, namespace, err := spaceConfig(ctx, o.Kubeconfig, o.Space, o.Namespace)
	if err != nil {
		return err
	}
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("use the kubeconfig: %w", err)
	}
	send := []string{o.Program, "volume", "send"}
	if o.Live {
		send = append(send, "--live")
	}
	from := &podEnd{of: o.From, command: append(send, o.From.Dir), said: &said{tell: o.Progress}}
	to := &podEnd{of: o.To, command: []string{o.Program, "volume", "receive", o.To.Dir}, said: &said{}}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	down, toDown := io.Pipe()
	up, toUp := io.Pipe()
	var both sync.WaitGroup
	run := func(e *podEnd, in *io.PipeReader, out *io.PipeWriter) {
		both.Go(func() {
			if e.err = e.run(ctx, client, config, namespace, in, out); e.err != nil {
				stop()
			}
			// Neither end waits for the other one after that.
			out.CloseWithError(io.EOF)
			in.CloseWithError(io.ErrClosedPipe)
		})
	}
	run(from, up, toDown)
	run(to, down, toUp)
	both.Wait()
	if err := whyEnded(from, to); err != nil {
		return err
	}
	fmt.Fprintln(o.Out, from.said.last())
	return nil
}

// podEnd is one end of a copy.
type podEnd struct {
	of      PodDir
	command []string
	said    *said
	err     error
}

func (e *podEnd) run(
	ctx context.Context, client *corev1client.CoreV1Client, config *rest.Config, namespace string, in io.Reader,
	out io.Writer,
) error {
	url := client.RESTClient().Post().Namespace(namespace).Resource("pods").Name(e.of.Pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: e.command, Stdin: true, Stdout: true, Stderr: true},
			scheme.ParameterCodec).URL()
	executor, err := executorFor(config, url)
	if err != nil {
		return err
	}
	return executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: out, Stderr: e.said})
}

// executorFor speaks WebSocket, or SPDY to what does not.
func executorFor(config *rest.Config, to *url.URL) (remotecommand.Executor, error) {
	first, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, to.String())
	if err != nil {
		return nil, fmt.Errorf("reach the Pods: %w", err)
	}
	second, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, to)
	if err != nil {
		return nil, fmt.Errorf("reach the Pods: %w", err)
	}
	return remotecommand.NewFallbackExecutor(first, second, httpstream.IsUpgradeFailure)
}

// whyEnded is why a copy has ended, nil when it is whole. The sender hears what the receiver has to say, and who
// was cancelled has only followed the other one.
func whyEnded(from, to *podEnd) error {
	e := from
	if from.err == nil || errors.Is(from.err, context.Canceled) && to.err != nil {
		e = to
	}
	var exit exec.CodeExitError
	switch text := e.said.last(); {
	case e.err == nil:
		return nil
	case errors.As(e.err, &exit) && text != "":
		return fmt.Errorf("pod %s: %s", e.of.Pod, text)
	case errors.Is(e.err, context.Canceled):
		return e.err
	default:
		return fmt.Errorf("pod %s: %w; its image must have the program %s, see --program", e.of.Pod, e.err, e.command[0])
	}
}

// said is what a program says on standard error, of which the last line counts. It tells each line.
type said struct {
	tell *Progress

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
			s.tell.Step("%s", s.line)
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

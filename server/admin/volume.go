package admin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/urfave/cli/v2"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/streaming/pkg/httpstream"

	"skerry.dev/skerry/server/admin/fleet"
	"skerry.dev/skerry/server/podexec"
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
	from := podexec.End{Namespace: namespace, Pod: o.From.Pod, Command: append(send, o.From.Dir),
		Tell: func(line string) { o.Progress.Step("%s", line) }}
	to := podexec.End{Namespace: namespace, Pod: o.To.Pod, Command: []string{o.Program, "volume", "receive", o.To.Dir}}
	last, err := podexec.Join(ctx, client.RESTClient(), executorFor(config), from, to)
	if err != nil {
		return err
	}
	fmt.Fprintln(o.Out, fleet.OneLine(last)) // the Pod's words
	return nil
}

// executorFor speaks WebSocket, or SPDY to what does not.
func executorFor(config *rest.Config) podexec.Executor {
	return func(r *rest.Request) (remotecommand.Executor, error) {
		first, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, r.URL().String())
		if err != nil {
			return nil, err
		}
		second, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, r.URL())
		if err != nil {
			return nil, err
		}
		return remotecommand.NewFallbackExecutor(first, second, httpstream.IsUpgradeFailure)
	}
}

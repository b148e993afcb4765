package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/commandline"
)

// CAOptions say which center's authorities a command is about and what is wanted of them.
type CAOptions struct {
	Kubeconfig string
	// SwitchAfter, if not 0, is when the new authorities sign although sites lack them. RetireAfter
	// is how long the old ones stay trusted after that; nil leaves it as it was asked before.
	SwitchAfter time.Duration
	RetireAfter *time.Duration
	// Force leaves the present phase at once.
	Force  bool
	DryRun bool
	Output string // "", json or yaml
	Out    io.Writer
}

// CACommand is `skerry ca` with its subcommands.
func CACommand() *cli.Command {
	do := func(run func(context.Context, CAOptions) error) cli.ActionFunc {
		return func(c *cli.Context) error {
			o := CAOptions{
				Kubeconfig:  c.String("kubeconfig"),
				SwitchAfter: c.Duration("switch-after"),
				Force:       c.Bool("force"),
				DryRun:      c.Bool("dry-run"),
				Output:      c.String("output"),
				Out:         c.App.Writer,
			}
			if c.IsSet("retire-after") {
				d := c.Duration("retire-after")
				o.RetireAfter = &d
			}
			if err := checkDataOutput(o.Output); err != nil {
				return err
			}
			return run(c.Context, o)
		}
	}
	return &cli.Command{
		Name:  "ca",
		Usage: "look at and rotate the center's certificate authorities, and the names in its certificate",
		Subcommands: []*cli.Command{
			{
				Name:   "status",
				Usage:  "show the authorities, and how far a rotation is",
				Flags:  ClientFlags(DataFlag()),
				Action: do(CAStatus),
			},
			{
				Name:   "rotate",
				Usage:  "replace the authorities, step by step, while everybody stays connected",
				Action: do(RotateCA),
				Flags: ClientFlags(
					DataFlag(),
					commandline.DurationFlag(0, commandline.Bounds{Most: commandline.Longest},
						"use the new authorities after this time, although sites do not trust them yet "+
							"(default: wait for all)", "switch-after"),
					commandline.DurationFlag(v1alpha1.DefaultRetireAfter, commandline.Bounds{Most: commandline.Longest},
						"how long the old authorities stay trusted at least: kubeconfigs name them", "retire-after"),
					&cli.BoolFlag{
						Name:  "force",
						Usage: "leave the present phase at once; sites that are not ready have to join again if they stay away",
					},
					&cli.BoolFlag{Name: "dry-run", Usage: "say what would be asked for, change nothing"},
				),
			},
			{
				Name:      "forget",
				Usage:     "take a name that is no longer advertised off the center's certificate",
				ArgsUsage: "NAME...",
				Action: func(c *cli.Context) error {
					return ForgetNames(c.Context, CAOptions{Kubeconfig: c.String("kubeconfig"), DryRun: c.Bool("dry-run"),
						Out: c.App.Writer}, c.Args().Slice())
				},
				Flags: ClientFlags(&cli.BoolFlag{Name: "dry-run", Usage: "ask the center, change nothing"}),
			},
		},
	}
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// authorities are the two documents through which a rotation is asked for and told.
type authorities struct {
	object  *unstructured.Unstructured
	request v1alpha1.AuthoritiesRequest
	status  v1alpha1.AuthoritiesStatus
}

func (c *center) authorities(ctx context.Context) (*authorities, error) {
	obj, err := c.root.Resource(
		configMaps,
	).Namespace(
		v1alpha1.AuthoritiesNamespace,
	).Get(
		ctx,
		v1alpha1.AuthoritiesName,
		metav1.GetOptions{},
	)
	if apierrors.IsNotFound(err) {
		if err := CheckCenter(ctx, c.config); err != nil {
			return nil, err
		}
		return nil, errors.New(
			"the center has not told of its authorities yet; try again in a moment, else see its log",
		)
	} else if err != nil {
		return nil, fmt.Errorf("read the authorities' status: %w", err)
	}
	a := &authorities{object: obj}
	data, _, _ := unstructured.NestedStringMap(obj.Object, "data")
	if err := json.Unmarshal([]byte(data[v1alpha1.AuthoritiesStatusKey]), &a.status); err != nil {
		return nil, fmt.Errorf(
			"the status in configmap %s/%s cannot be read: %w",
			v1alpha1.AuthoritiesNamespace,
			v1alpha1.AuthoritiesName,
			err,
		)
	}
	if text := data[v1alpha1.AuthoritiesRequestKey]; text != "" {
		if err := json.Unmarshal([]byte(text), &a.request); err != nil {
			return nil, fmt.Errorf(
				"the request in configmap %s/%s cannot be read: %w",
				v1alpha1.AuthoritiesNamespace,
				v1alpha1.AuthoritiesName,
				err,
			)
		}
	}
	return a, nil
}

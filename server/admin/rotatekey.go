package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// RotateEncryptionKeyCommand is `skerry center rotate-encryption-key`.
func RotateEncryptionKeyCommand() *cli.Command {
	action := func(c *cli.Context) error {
		return RotateEncryptionKey(
			c.Context,
			RotateKeyOptions{
				Kubeconfig: c.String("kubeconfig"),
				DryRun:     c.Bool("dry-run"),
				Wait:       c.Duration("wait"),
				Progress:   NewProgress(c),
				Out:        c.App.Writer,
			},
		)
	}
	return &cli.Command{Name: "rotate-encryption-key", Action: action,
		Usage: "encrypt everything that the center stores anew, with a new key where the key file is the center's own",
		Flags: ClientFlags(
			&cli.BoolFlag{Name: "dry-run", Usage: "ask the center, change nothing"},
			WaitFlag(10*time.Minute, "how long to wait until it is done; the center goes on by itself"),
			QuietFlag(),
		)}
}

// RotateKeyOptions say how a rotation is asked for.
type RotateKeyOptions struct {
	Kubeconfig string
	DryRun     bool
	Wait       time.Duration
	Progress   *Progress
	Out        io.Writer
}

// RotateEncryptionKey asks the center for a rotation and waits until it is done.
func RotateEncryptionKey(ctx context.Context, o RotateKeyOptions) error {
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	request := time.Now().UTC().Format(time.RFC3339Nano)
	if err := c.askForKey(ctx, request, o.DryRun); err != nil {
		return fmt.Errorf("ask the center for a new encryption key: %w", err)
	}
	if o.DryRun {
		_, err := fmt.Fprintln(o.Out, "A new encryption key would be asked for (dry run).")
		return err
	}
	o.Progress.Step("asked for; waiting until the center has encrypted everything anew")
	defer o.Progress.Done()
	end := time.Now().Add(o.Wait)
	for time.Now().Before(end) {
		m, err := c.root.Resource(
			configMaps,
		).Namespace(
			v1alpha1.EncryptionNamespace,
		).Get(
			ctx,
			v1alpha1.EncryptionName,
			metav1.GetOptions{},
		)
		if err == nil {
			if data, _, _ := unstructured.NestedStringMap(m.Object, "data"); data[v1alpha1.EncryptionDoneKey] == request {
				o.Progress.Done()
				_, err := fmt.Fprintf(
					o.Out,
					"%s values were encrypted anew; these keys encrypt now: %s\nBack the center up again: "+
						"older backups need the keys of before.\nA key file of your own (--encryption-key-file) is not changed: "+
						"put a new key into its first line, and start the center again, before this.\n",
					data[v1alpha1.EncryptionRewrittenKey],
					data[v1alpha1.EncryptionKeysKey],
				)
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	return fmt.Errorf(
		"the rotation is not done after %s; the center goes on with it, see its log and: kubectl -n %s get "+
			"configmap %s -o yaml",
		o.Wait,
		v1alpha1.EncryptionNamespace,
		v1alpha1.EncryptionName,
	)
}

// askForKey writes the request.
func (c *center) askForKey(ctx context.Context, request string, dryRun bool) error {
	maps := c.root.Resource(configMaps).Namespace(v1alpha1.EncryptionNamespace)
	var dry []string
	if dryRun {
		dry = []string{metav1.DryRunAll}
	}
	patch, err := json.Marshal(map[string]any{"data": map[string]string{v1alpha1.EncryptionRequestKey: request}})
	if err != nil {
		return err
	}
	_, err = maps.Patch(ctx, v1alpha1.EncryptionName, types.MergePatchType, patch, metav1.PatchOptions{DryRun: dry})
	if !apierrors.IsNotFound(err) {
		return err
	}
	m := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"name": v1alpha1.EncryptionName,
		}, "data": map[string]any{v1alpha1.EncryptionRequestKey: request}}}
	_, err = maps.Create(ctx, m, metav1.CreateOptions{DryRun: dry})
	return err
}

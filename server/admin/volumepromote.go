package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/admin/fleet"
	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/volumes"
	"skerry.dev/skerry/tunnel/ondemand"
	"skerry.dev/skerry/tunnel/output"
)

// printable leaves out of what is printed, a text at a time, what a terminal would obey: whoever may write Deployments
// of a space may write what is said of its standbys.
type printable struct{ io.Writer }

// Write implements io.Writer.
func (p printable) Write(b []byte) (int, error) {
	_, err := io.WriteString(p.Writer, fleet.Printable(string(b)))
	return len(b), err
}

// PromoteVolumeCommand is `skerry volume promote`.
func PromoteVolumeCommand() *cli.Command {
	return &cli.Command{
		Name: "promote",
		Usage: "have an app whose site is lost begin on its standby, with what that held at the last round; what was " +
			"written after that is given up",
		ArgsUsage: "NAMESPACE/CLAIM",
		Flags: ClientFlags(
			&cli.StringFlag{Name: "space", Usage: "of the claim (default: that of the kubeconfig)"},
			&cli.StringFlag{Name: "at", Usage: "site that has the standby (default: the only one)"},
			&cli.BoolFlag{Name: "dry-run", Usage: "only say what would be given up, and what speaks against it"},
			WaitFlag(5*time.Minute, "how long to wait until the app is placed there"),
		),
		Action: onClaim(func(c *cli.Context, v *volumeUser, claim types.NamespacedName) error {
			return v.promote(c.Context, claim, c.String("at"), c.Bool("dry-run"), c.Duration("wait"), c.App.Writer)
		}),
	}
}

// ForgetVolumeCommand is `skerry volume forget`.
func ForgetVolumeCommand() *cli.Command {
	return &cli.Command{
		Name: "forget",
		Usage: "delete a standby that is not replicated any more, or what was kept of an app at the site that it was lost " +
			"with",
		ArgsUsage: "NAMESPACE/CLAIM",
		Flags: ClientFlags(
			&cli.StringFlag{Name: "space", Usage: "of the claim (default: that of the kubeconfig)"},
			&cli.StringFlag{Name: "at", Usage: "site that has it (default: the only one)"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do it; without this it is only said what is deleted"},
			WaitFlag(time.Minute, "how long to wait until it is gone"),
		),
		Action: onClaim(func(c *cli.Context, v *volumeUser, claim types.NamespacedName) error {
			return v.forget(c.Context, claim, c.String("at"), c.Bool("yes"), c.Duration("wait"), c.App.Writer)
		}),
	}
}

// onClaim is the action of a command about what a user of a space has of one claim.
func onClaim(do func(c *cli.Context, v *volumeUser, claim types.NamespacedName) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		claim, err := claimArgument(c)
		if err != nil {
			return err
		}
		v, err := openVolumes(c)
		if err != nil {
			return err
		}
		return do(c, v, claim)
	}
}

func claimArgument(c *cli.Context) (types.NamespacedName, error) {
	text, err := OneArgument(c, "claim, as NAMESPACE/CLAIM,")
	if err != nil {
		return types.NamespacedName{}, err
	}
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || namespace == "" || name == "" {
		return types.NamespacedName{}, Usage("%q: write NAMESPACE/CLAIM, such as web/notes", text)
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

// one is the standby, or what is kept, of a claim at a target.
func one(list []standby, claim types.NamespacedName, at string, kept bool) (standby, error) {
	var found []standby
	var where []string
	for _, s := range list {
		target := s.Target
		if s.Mode == modeKept {
			target = s.Source
		}
		if s.Namespace != claim.Namespace || s.Claim != claim.Name || s.mover == nil || !kept && s.Mode == modeKept {
			continue
		}
		if where = append(where, target); at == "" || at == target {
			found = append(found, s)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(where) == 0:
		return standby{}, fmt.Errorf("%s has no standby; skerry volume list shows which claims have one", claim)
	case len(found) == 0:
		return standby{}, fmt.Errorf("%s has nothing of %s; --at %s", at, claim, strings.Join(where, " or "))
	}
	return standby{}, fmt.Errorf("several sites have something of %s: say which, --at %s", claim,
		strings.Join(where, " or "))
}

func (v *volumeUser) promote(
	ctx context.Context, claim types.NamespacedName, at string, dry bool, wait time.Duration, out io.Writer,
) error {
	out = printable{out}
	list, err := v.standbys(ctx, "")
	if err != nil {
		return err
	}
	first, err := one(list, claim, at, false)
	if err != nil {
		return err
	}
	var all []standby // what the unit has there: all of it begins, or nothing
	for _, s := range list {
		if s.mark == first.mark {
			all = append(all, s)
		}
	}
	for _, s := range all {
		if s.Last == nil {
			return fmt.Errorf("%s holds no whole round of %s/%s: nothing can begin there", s.Target, s.Namespace, s.Claim)
		}
		text := fmt.Sprintf("%s/%s at %s: data as of %s", s.Namespace, s.Claim, s.Target,
			s.Last.At.UTC().Format(time.RFC3339))
		if s.Lost != nil {
			text += fmt.Sprintf(", %s before %s went silent", s.Lost.Since.Sub(s.Last.At).Round(time.Second), s.Source)
		}
		fmt.Fprintf(out, "%s; %d files, %s. What was written later is given up\n", text, s.Last.Files,
			output.Bytes(s.Last.Bytes))
	}
	switch l := first.Lost; {
	case l == nil && first.Mode == modeEnded:
		return fmt.Errorf("%s/%s is not replicated now, so it is not known here whether %s is lost. If it is, and the app "+
			"is to begin on what %s holds: kubectl -n %s annotate deployment %s %s=true", first.Namespace, first.Claim,
			first.Source, first.Target, first.Namespace, first.mover.Name, v1alpha1.AnnotationPromote)
	case l == nil:
		return fmt.Errorf("%s is connected, and the app runs there. Move it with its label or its Placement: nothing is "+
			"lost then", first.Source)
	case !l.Certain:
		return errors.New(l.Why)
	case dry:
		return nil
	}
	if err := v.wish(ctx, first, out); err != nil {
		return err
	}
	for _, s := range all {
		if err := v.annotate(ctx, s, v1alpha1.AnnotationPromote, "true"); err != nil {
			return err
		}
	}
	return v.awaitPromotion(ctx, first, wait, out)
}

// annotate writes one annotation of what keeps a standby.
func (v *volumeUser) annotate(ctx context.Context, s standby, name, value string) error {
	patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{ // texts
		"annotations": map[string]any{name: value}}})
	_, err := v.client.AppsV1().Deployments(s.Namespace).Patch(ctx, s.mover.Name, types.MergePatchType, patch,
		metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("change Deployment %s: %w", s.mover.Name, err)
	}
	return nil
}

// wish has the label of the Namespace say where the app is to be, so that it does not leave again.
func (v *volumeUser) wish(ctx context.Context, s standby, out io.Writer) error {
	n, err := v.client.CoreV1().Namespaces().Get(ctx, s.Namespace, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read Namespace %s: %w", s.Namespace, err)
	}
	if string(n.UID) != string(s.mark.Unit) {
		fmt.Fprintf(out, "A Placement or a label of its own says where the app is: it has to allow %s, or the app leaves "+
			"again\n", s.Target)
		return nil
	}
	was := n.Labels[v1alpha1.LabelTarget]
	if was == "" || was == s.Target {
		return nil
	}
	patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{ // texts
		"labels": map[string]any{v1alpha1.LabelTarget: s.Target}}})
	if _, err := v.client.CoreV1().Namespaces().Patch(ctx, n.Name, types.MergePatchType, patch,
		metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("label Namespace %s: %w", n.Name, err)
	}
	fmt.Fprintf(out, "Namespace %s has the label %s=%s now, instead of %s\n", n.Name, v1alpha1.LabelTarget, s.Target, was)
	return nil
}

// awaitPromotion waits until a standby is one no more, since the app has it.
func (v *volumeUser) awaitPromotion(ctx context.Context, s standby, wait time.Duration, out io.Writer) error {
	why := ""
	gone, err := v.awaitGone(ctx, s, wait, func(d *appsv1.Deployment) error {
		if is := volumes.ParseStandby(d.Annotations[v1alpha1.AnnotationStandby]); is != nil {
			why = is.Problem
		}
		if d.Annotations[v1alpha1.AnnotationPromote] != "true" {
			return fmt.Errorf("%s is connected again before the app began at %s: the app stays there, and nothing was given "+
				"up. Where the label of the Namespace says %s, it moves there with its volume", s.Source, s.Target, s.Target)
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case gone:
		fmt.Fprintf(out, "the app of %s/%s is at %s. What %s held stays there when it returns: skerry volume list\n",
			s.Namespace, s.Claim, s.Target, s.Source)
		return nil
	}
	if why != "" {
		why = ": " + why
	}
	return fmt.Errorf("the app has not begun at %s within %s%s; skerry status --moves says what it waits for, and it "+
		"goes on", s.Target, wait, why)
}

// awaitGone waits for so long until what keeps a standby is gone, and reports whether it is. Until then each look at it
// is told, and an error of there ends it.
func (v *volumeUser) awaitGone(
	ctx context.Context, s standby, wait time.Duration, there func(*appsv1.Deployment) error,
) (gone bool, err error) {
	for until := v.now().Add(wait); v.now().Before(until); {
		d, err := v.client.AppsV1().Deployments(s.Namespace).Get(ctx, s.mover.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return true, nil
		case err == nil:
			if err := there(d); err != nil {
				return false, err
			}
		}
		if !ondemand.Pause(ctx, v.pause) {
			return false, ctx.Err()
		}
	}
	return false, nil
}

// mostRefused is how often the center takes the order to forget a standby back before it is believed. Somebody may have
// ended the replication just now, and the center not know it yet.
const mostRefused = 3

var errReplicated = errors.New("is replicated")

func (v *volumeUser) forget(
	ctx context.Context, claim types.NamespacedName, at string, yes bool, wait time.Duration, out io.Writer,
) error {
	out = printable{out}
	list, err := v.standbys(ctx, claim.Namespace)
	if err != nil {
		return err
	}
	s, err := one(list, claim, at, true)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("the volume that %s/%s had at %s when the app was lost with it", s.Namespace, s.Claim, s.Source)
	if s.Mode != modeKept {
		what = fmt.Sprintf("the standby of %s/%s at %s", s.Namespace, s.Claim, s.Target)
		if s.Last != nil {
			what += fmt.Sprintf(", with data as of %s, %d files, %s", s.Last.At.UTC().Format(time.RFC3339), s.Last.Files,
				output.Bytes(s.Last.Bytes))
		}
	}
	if !yes {
		fmt.Fprintf(out, "would delete %s; do it with --yes\n", what)
		return nil
	}
	order := func() error {
		return v.annotate(ctx, s, v1alpha1.AnnotationKeepUntil, v.now().UTC().Format(time.RFC3339))
	}
	if err := order(); err != nil {
		return err
	}
	refused := 0
	gone, err := v.awaitGone(ctx, s, wait, func(d *appsv1.Deployment) error {
		if d.Annotations[v1alpha1.AnnotationKeepUntil] != "" {
			return nil
		}
		if refused++; refused < mostRefused {
			return order()
		}
		return errReplicated
	})
	switch {
	case errors.Is(err, errReplicated), err == nil && !gone && refused > 0:
		return fmt.Errorf("%s/%s %w to %s, so its standby stays: end that first (skerry.dev/volumes=Move of the Namespace, "+
			"or spec.move.volumes of the Placement)", s.Namespace, s.Claim, errReplicated, s.Target)
	case err != nil:
		return err
	case gone:
		fmt.Fprintf(out, "deleted %s\n", what)
		return nil
	}
	return fmt.Errorf("it is still there after %s: a site that is away deletes it when it returns", wait)
}

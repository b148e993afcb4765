package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/admin/fleet"
	"skerry.dev/skerry/server/api/v1alpha1"
)

// acceptCommand is `skerry target accept`.
func acceptCommand() *cli.Command {
	accept := func(c *cli.Context) error {
		names := c.Args().Slice()
		if (len(names) == 0) != c.Bool("all") {
			return Usage("name the sites, or give --all; see: skerry target accept --help")
		}
		return AcceptTargets(
			c.Context,
			AcceptOptions{
				Kubeconfig: c.String("kubeconfig"),
				Names:      names,
				DryRun:     c.Bool("dry-run"),
				Yes:        c.Bool("yes"),
				Wait:       c.Duration("wait"),
				Output:     c.String("output"),
				In:         os.Stdin,
				Progress:   NewProgress(c),
				Out:        c.App.Writer,
			},
		)
	}
	return &cli.Command{
		Name:      "accept",
		Usage:     "show what a site holds back, and let it happen",
		ArgsUsage: "NAME...",
		Action:    accept,
		Flags: ClientFlags(
			DataFlag(),
			&cli.BoolFlag{Name: "all", Usage: "all sites that hold anything back"},
			&cli.BoolFlag{Name: "dry-run", Usage: "only show it"},
			&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "do not ask"},
			WaitFlag(30*time.Second, "how long to wait for sites that are connected"),
			QuietFlag(),
		),
	}
}

// AcceptOptions say what to accept of which sites.
type AcceptOptions struct {
	Kubeconfig string
	Names      []string // none means all sites that hold anything
	DryRun     bool
	Yes        bool
	Wait       time.Duration
	Output     string // "", json or yaml
	In         io.Reader
	Progress   *Progress
	Out        io.Writer
}

// heldTarget is a site that holds something back, as -o json and yaml print it.
type heldTarget struct {
	Name string `json:"name"`
	v1alpha1.SyncTargetHeld
	// Connected reports whether the site is here to take the acceptance over.
	Connected bool `json:"connected"`
	// Accepted is true once the admin's word is recorded, Done once the site has taken it over.
	Accepted bool `json:"accepted"`
	Done     bool `json:"done"`
	uid      types.UID
}

// AcceptTargets shows what sites hold back, asks, records the admin's word for exactly that, and
// waits until connected sites have taken it over.
func AcceptTargets(ctx context.Context, o AcceptOptions) error {
	if err := checkDataOutput(o.Output); err != nil {
		return err
	}
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	held, err := c.held(ctx, o.Names)
	if err != nil {
		return err
	}
	if o.Output == "" {
		show(o.Out, held)
	}
	if len(held) > 0 && !o.DryRun {
		if err := confirm(o, len(held)); err != nil {
			return err
		}
		if err := c.accept(ctx, o, held); err != nil {
			return err
		}
	}
	if o.Output != "" {
		return printData(o.Out, o.Output, held, nil)
	}
	return nil
}

// held returns the sites of these names, or all, that hold something back. One that is named and
// holds nothing is left out, and said.
func (c *center) held(ctx context.Context, names []string) ([]*heldTarget, error) {
	list, err := c.listAll(ctx, syncTargets, selection{})
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	held := []*heldTarget{}
	for i := range list.Items {
		name := list.Items[i].GetName()
		if len(names) > 0 && !wanted[name] {
			continue
		}
		delete(wanted, name)
		h, err := heldOf(&list.Items[i])
		if err != nil {
			return nil, err
		}
		if h != nil {
			held = append(held, h)
		}
	}
	for name := range wanted {
		return nil, fmt.Errorf("there is no site %q; see them with: skerry status", name)
	}
	return held, nil
}

func heldOf(obj *unstructured.Unstructured) (*heldTarget, error) {
	var t v1alpha1.SyncTarget
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &t); err != nil {
		return nil, fmt.Errorf("read site %s: %w", obj.GetName(), err)
	}
	if t.Status.Held == nil {
		return nil, nil
	}
	connected, _ := condition(obj.Object, v1alpha1.ConditionConnected)
	return &heldTarget{Name: t.Name, SyncTargetHeld: *t.Status.Held, Connected: connected == "True", uid: t.UID}, nil
}

func show(w io.Writer, held []*heldTarget) {
	if len(held) == 0 {
		fmt.Fprintln(w, "Nothing is held back.")
	}
	for _, h := range held {
		fmt.Fprintf(
			w,
			"%s holds: %s\n  %s\n  It has %d objects. Accepting deletes %d, changes %d and adds %d.\n",
			h.Name,
			h.Reason,
			fleet.OneLine(h.Message),
			h.Objects,
			h.Deletions,
			h.Changes,
			h.Additions,
		)
		for _, name := range h.First {
			fmt.Fprintf(w, "    deletes %s\n", fleet.OneLine(name))
		}
		if more := int(h.Deletions) - len(h.First); more > 0 && len(h.First) > 0 {
			fmt.Fprintf(w, "    and %d more\n", more)
		}
	}
}

// errNotConfirmed is returned when the admin did not say yes.
var errNotConfirmed = errors.New("not confirmed; nothing was changed")

func confirm(o AcceptOptions, n int) error {
	if o.Yes {
		return nil
	}
	return ask(o.In, fmt.Sprintf("Accept this for %d site(s)?", n))
}

// ask has a person at a terminal confirm; it is nil only for a yes.
func ask(from io.Reader, question string) error {
	in, ok := from.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return Usage("not a terminal: add --yes or --dry-run")
	}
	fmt.Fprintf(os.Stderr, "%s [y/N] ", question)
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil || !strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y") {
		return errNotConfirmed
	}
	return nil
}

// accept records the admin's word on each site, and waits for those that are connected.
func (c *center) accept(ctx context.Context, o AcceptOptions, held []*heldTarget) error {
	for _, h := range held {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": h.uid,
			"annotations": map[string]string{v1alpha1.AnnotationAccept: h.Accept}}})
		if err != nil {
			return err
		}
		_, err = c.root.Resource(
			syncTargets,
		).Patch(
			ctx,
			h.Name,
			types.MergePatchType,
			patch,
			metav1.PatchOptions{FieldManager: "skerry-cli"},
		)
		if err != nil {
			return fmt.Errorf("accept for site %s: %w", h.Name, err)
		}
		h.Accepted = true
	}
	deadline, cancel := context.WithTimeout(ctx, o.Wait)
	defer cancel()
	var behind []string
	for _, h := range held {
		what := "accepted; it is done when the site connects again"
		if h.Connected {
			o.Progress.Step("waiting until %s takes it over: %s", h.Name, accepted(h))
			is, err := c.awaitAccepted(deadline, h)
			o.Progress.Done()
			if err != nil {
				return err
			}
			if h.Done = is == nil; h.Done {
				what = accepted(h)
			} else {
				what = "was accepted, but " + o.Wait.String() + " later the site holds still, perhaps something else: look again"
				behind = append(behind, h.Name)
			}
		}
		if o.Output == "" {
			fmt.Fprintf(o.Out, "%s: %s\n", h.Name, what)
		}
	}
	if len(behind) > 0 {
		return fmt.Errorf(
			"not taken over yet: %s; see: skerry target accept --all --dry-run",
			strings.Join(behind, ", "),
		)
	}
	return nil
}

// accepted says what a site that was held has to do now.
func accepted(h *heldTarget) string {
	if h.Deletions == 0 {
		return fmt.Sprintf("accepted; %d changes left", h.Changes+h.Additions)
	}
	return fmt.Sprintf("accepted; %d deletions left", h.Deletions)
}

// awaitAccepted waits until the site does not hold any more what was accepted. It returns what it
// holds at the end of its patience.
func (c *center) awaitAccepted(ctx context.Context, h *heldTarget) (*heldTarget, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		obj, err := c.root.Resource(syncTargets).Get(ctx, h.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err == nil {
			is, err := heldOf(obj)
			if err != nil || is == nil {
				return nil, err
			}
		} else if ctx.Err() == nil {
			return nil, fmt.Errorf("read site %s: %w", h.Name, err)
		}
		select {
		case <-ctx.Done():
			return h, nil
		case <-tick.C:
		}
	}
}

package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"skerry.dev/skerry/server/admin/fleet"
	"skerry.dev/skerry/server/api/v1alpha1"
)

// View is what `skerry status` shows of a fleet.
type View string

// The views beside the table of all sites, "". They are named by the flags that ask for them.
const (
	TreeView    View = "tree"
	ProblemView View = "problems"
	MoveView    View = "moves"
)

// StatusOptions say what is shown of which sites.
type StatusOptions struct {
	ListOptions
	// Err is where a watch says that the center does not answer.
	Err io.Writer
	// Site is the one to show as a whole, "" for all.
	Site string
	View View
	// Space is the only one of which MoveView shows moves, "" for all.
	Space string
	// Watch goes on until the context ends.
	Watch bool
}

// ErrProblems is returned by ProblemView when something is wrong.
var ErrProblems = errors.New("not everything is as it should be")

// problem is an ErrProblems that says all by itself.
func problem(format string, args ...any) error { return &problemError{fmt.Errorf(format, args...)} }

type problemError struct{ error }

func (e *problemError) Is(target error) bool { return target == ErrProblems }
func (e *problemError) Unwrap() error        { return e.error }

// Status prints the center's direct children, one of them, or one of the views.
func Status(ctx context.Context, o StatusOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	w := &statusWriter{StatusOptions: o, center: c}
	if o.Watch {
		return w.watch(ctx)
	}
	if table, _ := isTable(o.Output); !table && o.View == "" {
		return w.objects(ctx)
	}
	s, _, err := w.snapshot(ctx, time.Now())
	if err != nil {
		return err
	}
	if err := w.print(s); err != nil {
		return err
	}
	if o.View == ProblemView {
		if n := len(w.problems(s)); n > 0 {
			return fmt.Errorf("%w: %d found", ErrProblems, n)
		}
	}
	return nil
}

// ListTargets prints the center's direct children without what is wrong with them.
func ListTargets(ctx context.Context, o ListOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	table, wide := isTable(o.Output)
	if !table {
		w := &statusWriter{StatusOptions: StatusOptions{ListOptions: o}, center: c}
		return w.objects(ctx)
	}
	sites, _, err := c.sites(ctx, selection{labels: o.Selector})
	if err != nil {
		return err
	}
	if len(sites) == 0 {
		_, err := fmt.Fprintln(o.Out, o.none())
		return err
	}
	s := &fleet.Snapshot{Sites: sites, Clock: fleet.Clock{Now: time.Now()}}
	return fleet.Table(s, wide).Print(o.Out)
}

const noSites = "No site has joined yet. Make a token with: skerry token create"

// none says that there are no sites.
func (o ListOptions) none() string {
	if o.Selector != "" {
		return fmt.Sprintf("No site has labels that match %q. All sites: skerry target list", o.Selector)
	}
	return noSites
}

// check refuses options that do not go together.
func (o StatusOptions) check() error {
	switch {
	case o.Site != "" && o.Selector != "":
		return Usage("-l selects among all sites: leave out %q; see: skerry status --help", o.Site)
	case o.Site != "" && o.View != "":
		return Usage("--%s shows all sites: leave out %q; see: skerry status --help",
			o.View, o.Site)
	case o.Space != "" && o.View != MoveView:
		return Usage("--space goes with --moves alone; see: skerry status --help")
	case o.View != "" && o.Output == "name":
		return Usage("-o name: --%s has no names; use table, json or yaml", o.View)
	}
	return o.ListOptions.check()
}

// statusWriter prints snapshots of a center as the options say.
type statusWriter struct {
	StatusOptions
	center *center
	stamps bool // times are written as they are
}

// snapshot asks the center for what the view needs. Revision is that of the list of sites.
func (w *statusWriter) snapshot(ctx context.Context, now time.Time) (s *fleet.Snapshot, revision string, err error) {
	s = &fleet.Snapshot{Center: w.center.url.Host, Clock: fleet.Clock{Now: now, Stamps: w.stamps}}
	if s.Sites, revision, err = w.center.sites(ctx, w.selected()); err != nil {
		return nil, "", err
	}
	return s, revision, w.beside(ctx, s)
}

// selected are the sites that are shown.
func (w *statusWriter) selected() selection { return selection{name: w.Site, labels: w.Selector} }

// beside asks for what is shown beside the sites.
func (w *statusWriter) beside(ctx context.Context, s *fleet.Snapshot) (err error) {
	if table, _ := isTable(w.Output); w.View == MoveView {
		s.Ended, err = w.center.endedMoves(ctx, w.Space)
	} else if w.Site == "" && (table || w.View != "") {
		s.Wrong, err = w.center.wrong(ctx, s.Clock, w.View == ProblemView)
		if a, unknown := w.center.authorities(ctx); unknown == nil {
			s.Former = a.status.FormerNames
		}
	}
	return err
}

// site is the one that is asked for.
func (w *statusWriter) site(s *fleet.Snapshot) (*v1alpha1.SyncTarget, error) {
	for i := range s.Sites {
		if s.Sites[i].Name == w.Site {
			return &s.Sites[i], nil
		}
	}
	if relay, below, found := strings.Cut(w.Site, "/"); found {
		return nil, fmt.Errorf("%s is below the relay %s, which answers for it: "+
			"skerry status %s, with the kubeconfig of that relay; from here see: skerry status %s",
			w.Site, relay, below, relay)
	}
	return nil, fmt.Errorf("there is no site %q; see them with: skerry status", w.Site)
}

// page is what people see of a snapshot.
func (w *statusWriter) page(s *fleet.Snapshot) (fleet.Page, error) {
	_, wide := isTable(w.Output)
	switch {
	case w.Site != "":
		t, err := w.site(s)
		if err != nil {
			return fleet.Page{}, err
		}
		return fleet.Site(s, t), nil
	case w.View == TreeView:
		return fleet.Tree(s).Page(s.Clock), nil
	case w.View == ProblemView:
		return fleet.ProblemPage(w.problems(s)), nil
	case w.View == MoveView:
		return fleet.MovePage(w.moves(s)), nil
	}
	return fleet.Overview(s, wide), nil
}

func (w *statusWriter) problems(s *fleet.Snapshot) []fleet.Problem {
	return append(fleet.Problems(s), fleet.MoveProblems(s)...)
}

// moves leaves in a snapshot only the moves of the space that is asked for.
func (w *statusWriter) moves(s *fleet.Snapshot) *fleet.Snapshot {
	if w.Space == "" {
		return s
	}
	some := *s
	some.Sites = nil
	for i := range s.Sites {
		t := v1alpha1.SyncTarget{ObjectMeta: s.Sites[i].ObjectMeta}
		for _, m := range s.Sites[i].Status.Moves {
			if strings.HasPrefix(m.Object, w.Space+"/") {
				t.Status.Moves = append(t.Status.Moves, m)
			}
		}
		unnamed := s.Sites[i].Status.MovesTotal - int32(len(s.Sites[i].Status.Moves)) // of whatever space
		t.Status.MovesTotal = int32(len(t.Status.Moves)) + unnamed
		some.Sites = append(some.Sites, t)
	}
	return &some
}

// data is what a program reads of a view.
func (w *statusWriter) data(s *fleet.Snapshot) (any, error) {
	switch w.View {
	case TreeView:
		return fleet.Tree(s), nil
	case ProblemView:
		return map[string]any{"problems": orEmpty(w.problems(s))}, nil
	case MoveView:
		return map[string]any{"moves": orEmpty(fleet.Moves(w.moves(s)))}, nil
	}
	return nil, fmt.Errorf("the view %q has no data", w.View)
}

// objects prints the SyncTargets, or the one that is asked for, as the API has them.
func (w *statusWriter) objects(ctx context.Context) error {
	list, err := w.center.listAll(ctx, syncTargets, w.selected())
	if err != nil {
		return err
	}
	data := list.UnstructuredContent()
	if w.Site != "" {
		if len(list.Items) == 0 {
			_, err := w.site(&fleet.Snapshot{})
			return err
		}
		data = list.Items[0].Object
	}
	return printData(w.Out, w.Output, data, func() (names []string) {
		for i := range list.Items {
			names = append(names, "synctarget.skerry.dev/"+list.Items[i].GetName())
		}
		return names
	})
}

// orEmpty is a list that a program sees as [] and not as null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (w *statusWriter) print(s *fleet.Snapshot) error {
	if table, _ := isTable(w.Output); !table {
		data, err := w.data(s)
		if err != nil {
			return err
		}
		return printData(w.Out, w.Output, data, nil)
	}
	page, err := w.page(s)
	if err != nil {
		return err
	}
	if len(s.Sites) == 0 && w.View != MoveView {
		if _, err := fmt.Fprintln(w.Out, w.none()); err != nil {
			return err
		}
		page.Head = nil
	} else if w.View == ProblemView && len(page.Rows) == 0 {
		fmt.Fprintf(w.Out, "Nothing is wrong with %s.\n", fleet.Counted(len(s.Sites), "site"))
	}
	return page.Print(localized{w.Out})
}

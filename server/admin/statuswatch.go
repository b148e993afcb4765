package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"skerry.dev/skerry/server/admin/fleet"
	"skerry.dev/skerry/server/api/v1alpha1"
)

const (
	// drawEvery is how often a watch draws at most.
	drawEvery = time.Second
	// besideEvery is how often a watch asks again for what no watch of the API tells.
	besideEvery = 5 * time.Second
	// askAgain is how long a watch waits for a center that does not answer.
	askAgain = 2 * time.Second
)

// watch shows snapshots until the context ends, also over restarts of the center.
func (w *statusWriter) watch(ctx context.Context) error {
	shown := newShown(w)
	defer shown.close()
	for {
		err := w.follow(ctx, shown)
		switch {
		case ctx.Err() != nil:
			return nil
		case shown.last == nil && err != nil:
			return err // what is wrong from the start is not waited for
		case err != nil && !apierrors.IsResourceExpired(err):
			shown.complain(Message(err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(askAgain):
		}
	}
}

// follow lists the sites and shows them at each change until the watch of them ends.
func (w *statusWriter) follow(ctx context.Context, shown *shown) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, revision, err := w.snapshot(ctx, time.Now())
	if err != nil {
		return err
	}
	if w.Site != "" {
		if _, err := w.site(s); err != nil {
			return err
		}
	}
	changes, err := w.center.root.Resource(syncTargets).Watch(ctx, w.from(revision))
	if err != nil {
		return fmt.Errorf("watch sites: %w", err)
	}
	defer changes.Stop()
	sites := map[string]v1alpha1.SyncTarget{}
	for _, t := range s.Sites {
		sites[t.Name] = t
	}
	if err := shown.show(s); err != nil {
		return err
	}
	draw := time.NewTicker(drawEvery)
	defer draw.Stop()
	asked, changed := time.Now(), false
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, open := <-changes.ResultChan():
			if !open {
				return nil
			}
			if err := take(sites, e); err != nil {
				return err
			}
			changed = true
		case now := <-draw.C:
			if again := now.Sub(asked) >= besideEvery; again {
				asked = now
				if err := w.beside(ctx, s); err != nil {
					return err
				}
				changed = true
			}
			if !changed && !shown.ages() {
				continue
			}
			changed, s.Clock.Now = false, now
			s.Sites = slices.SortedFunc(maps.Values(sites), func(a, b v1alpha1.SyncTarget) int {
				return strings.Compare(a.Name, b.Name)
			})
			if err := shown.show(s); err != nil {
				return err
			}
		}
	}
}

// from is a watch of what is shown, from a revision on.
func (w *statusWriter) from(revision string) metav1.ListOptions {
	options := w.selected().options()
	options.ResourceVersion = revision
	return options
}

// take brings the sites up to date with what a watch tells.
func take(sites map[string]v1alpha1.SyncTarget, e watch.Event) error {
	if e.Type == watch.Error {
		return apierrors.FromObject(e.Object)
	}
	obj, ok := e.Object.(*unstructured.Unstructured)
	if !ok {
		return errors.New("the center tells of something that is no site; is it of another " +
			"version?")
	}
	if e.Type == watch.Deleted {
		delete(sites, obj.GetName())
		return nil
	}
	var t v1alpha1.SyncTarget
	if err := siteOf(obj, &t); err != nil {
		return err
	}
	sites[t.Name] = t
	return nil
}

// shown is what a watch has shown: on a terminal one screen that is drawn again, else lines.
type shown struct {
	w        *statusWriter
	terminal *terminal // nil where it is none
	last     *fleet.Page
	objects  map[string]string // by name, of a watch that prints data
	whole    string
	said     string // what was complained of since something was shown
}

func newShown(w *statusWriter) *shown {
	sh := &shown{w: w, objects: map[string]string{}}
	if table, _ := isTable(w.Output); table {
		sh.terminal = terminalOf(w.Out)
		w.stamps = sh.terminal == nil
	}
	return sh
}

// ages reports whether what is shown changes while nothing does, because it says how long ago
// things are.
func (sh *shown) ages() bool { return sh.terminal != nil }

func (sh *shown) close() {
	if sh.terminal != nil {
		sh.terminal.close()
	}
}

// complain says that the center does not answer.
func (sh *shown) complain(why string) {
	text := fmt.Sprintf("%s; trying again every %s", why, askAgain)
	if text == sh.said {
		return
	}
	sh.said = text
	if sh.terminal != nil {
		sh.terminal.below(text)
		return
	}
	fmt.Fprintln(sh.w.Err, text)
}

func (sh *shown) show(s *fleet.Snapshot) error {
	sh.said = ""
	if table, _ := isTable(sh.w.Output); !table {
		sh.last = &fleet.Page{}
		return sh.data(s)
	}
	if sh.terminal != nil {
		sh.last = &fleet.Page{}
		var text strings.Builder
		fmt.Fprintf(&text, "%s   %s   ends with Ctrl-C\n\n", s.Center,
			s.Clock.Now.Format(time.TimeOnly))
		at := *sh.w
		at.Out = &text
		if err := at.print(s); err != nil {
			return err
		}
		return sh.terminal.draw(text.String())
	}
	page, err := sh.w.page(s)
	if err != nil {
		return err
	}
	if sh.last == nil {
		sh.last = &fleet.Page{}
	}
	at := s.Clock.Now.UTC().Format(time.RFC3339)
	for _, line := range page.Changes(*sh.last) {
		if _, err := fmt.Fprintln(sh.w.Out, at, line); err != nil {
			return err
		}
	}
	sh.last = &page
	return nil
}

// data prints what has changed: of a list the objects, each in one line of JSON or one document of
// YAML, else the whole.
func (sh *shown) data(s *fleet.Snapshot) error {
	if sh.w.View == "" {
		return sh.sites(s)
	}
	data, err := sh.w.data(s)
	if err != nil {
		return err
	}
	_, err = sh.document(&sh.whole, data)
	return err
}

func (sh *shown) sites(s *fleet.Snapshot) error {
	if sh.w.Site != "" {
		if _, err := sh.w.site(s); err != nil {
			return err
		}
	}
	for i := range s.Sites {
		t := &s.Sites[i]
		if sh.w.Site != "" && sh.w.Site != t.Name {
			continue
		}
		t.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("SyncTarget"))
		was := sh.objects[t.Name]
		if _, err := sh.document(&was, t); err != nil {
			return err
		}
		sh.objects[t.Name] = was
	}
	return nil
}

// document prints data if it is not what was printed before.
func (sh *shown) document(was *string, data any) (printed bool, err error) {
	text, err := json.Marshal(data)
	if err != nil || string(text) == *was {
		return false, err
	}
	first := *was == ""
	*was = string(text)
	switch sh.w.Output {
	case "json":
		_, err = fmt.Fprintln(sh.w.Out, *was)
		return true, err
	case "name":
		if t, ok := data.(*v1alpha1.SyncTarget); ok && first {
			_, err = fmt.Fprintln(sh.w.Out, "synctarget.skerry.dev/"+t.Name)
		}
		return true, err
	}
	if _, err := fmt.Fprintln(sh.w.Out, "---"); err != nil {
		return true, err
	}
	return true, printData(sh.w.Out, sh.w.Output, data, nil)
}

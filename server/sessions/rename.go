package sessions

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/catalog"
	"skerry.dev/skerry/tunnel"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/ondemand"
)

// A SyncTarget that is renamed keeps its UID, and with that every decision that names it. Its agent keeps
// its key and its certificate, which has the name under which it joined: Resolve knows whom the key
// stands for.
//
// Life of a rename from OLD to NEW:
//
//  1. An admin sets the annotation skerry.dev/rename-to. A wish that cannot be fulfilled becomes the
//     condition Renaming=False.
//  2. The session of OLD ends, and none begins. Its reports are copied to NEW.
//  3. NEW is stored, with the UID of OLD, and then OLD is deleted. A center that dies in between goes
//     on here when it starts again.
//  4. The agent dials again. Welcome tells it its name.

// Renamer gives stored SyncTargets other names.
type Renamer interface {
	// Rename stores the SyncTarget under another name, which no object has, and deletes the old one. It
	// keeps the UID. Where the new one is stored already it only deletes.
	Rename(ctx context.Context, from, to string) error
}

// renamePause is for how long the agent of a target that is being renamed waits, and how often a
// rename that failed is tried again.
const renamePause = time.Second

// renameTries is how often the store is asked while the agent waits. Later the target has no session,
// and its rename waits for one.
const renameTries = 5

// renames are the wishes for other names. mu is never held while anybody else is called.
type renames struct {
	wake chan struct{}
	// pausing are the targets that get no session; problems say why a wish is not fulfilled. Both are
	// guarded by Server.mu.
	pausing  map[string]bool
	problems map[string]renameProblem
}

type renameProblem struct{ to, reason, message string }

func newRenames() *renames {
	return &renames{
		wake: make(chan struct{}, 1), pausing: map[string]bool{}, problems: map[string]renameProblem{},
	}
}

func (r *renames) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// formerNames are the names that a SyncTarget had, the newest first.
func formerNames(of metav1.Object) []string {
	text := of.GetAnnotations()[v1alpha1.AnnotationFormerNames]
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// renamesOf is how often a SyncTarget was renamed.
func renamesOf(t metav1.Object) int {
	return v1alpha1.Renames(t.GetAnnotations()[v1alpha1.AnnotationRenames])
}

// supersedes reports whether a SyncTarget is another one by a newer name.
func supersedes(now, old *v1alpha1.SyncTarget) bool {
	return now.UID == old.UID && renamesOf(now) > renamesOf(old)
}

// Resolve returns whom the certificate of an agent stands for: the SyncTarget that has its key and had
// its name.
func (srv *Server) Resolve(id tunnel.Identity) tunnel.Identity {
	if name := srv.targets.holder(id.Target, id.Key); name != id.Target {
		id.Certified, id.Target = id.Target, name
	}
	return id
}

// holder is the name of the target that an agent with a key and a name in its certificate stands for.
func (t *targets) holder(name, key string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known[name].key == key {
		return name
	}
	if now, ok := t.renamed[formerHolder{name, key}]; ok {
		return now
	}
	return name
}

// formerHolder is the key of a target, or one that was revoked, under a name that the target had.
type formerHolder struct{ name, key string }

// indexLocked takes over under which names and keys a renamed target is known.
func (t *targets) indexLocked(name string, before, now *v1alpha1.SyncTarget) {
	for of := range formerHolders(before) {
		if t.renamed[of] == name {
			delete(t.renamed, of)
		}
	}
	for of := range formerHolders(now) {
		t.renamed[of] = name
	}
}

func formerHolders(of *v1alpha1.SyncTarget) map[formerHolder]bool {
	out := map[formerHolder]bool{}
	if of == nil {
		return out
	}
	keys := append(strings.Split(of.Annotations[v1alpha1.AnnotationRevoked], ","), of.Annotations[v1alpha1.AnnotationKey])
	for _, name := range formerNames(of) {
		for _, key := range keys {
			if key != "" {
				out[formerHolder{name, key}] = true
			}
		}
	}
	return out
}

// formerly are the names that a target had and that no other one has now.
func (t *targets) formerly(name string) (out []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	is, ok := t.known[name]
	if !ok {
		return nil
	}
	for _, former := range formerNames(is.object) {
		if _, taken := t.known[former]; !taken {
			out = append(out, former)
		}
	}
	return out
}

// inherit gives a SyncTarget that has come by a new name what was known of it by the old one.
func (srv *Server) inherit(name string, obj *v1alpha1.SyncTarget) {
	for _, former := range formerNames(obj) {
		known, ok := srv.targets.get(former)
		if !ok || !supersedes(obj, known.object) {
			continue
		}
		srv.leases.rename(former, name)
		srv.usage.rename(former, name)
		srv.mu.Lock()
		catalog.RenameIn(srv.left, former, name)
		catalog.RenameIn(srv.barriers, former, name)
		srv.mu.Unlock()
		srv.Recount(name)
	}
}

// wishes are the targets that are to have other names, and those whose old name is still stored: old
// name to new one.
func (t *targets) wishes() map[string]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := map[string]string{}
	for name, is := range t.known {
		if to := is.object.Annotations[v1alpha1.AnnotationRenameTo]; to != "" && to != name {
			out[name] = to
		}
		for _, former := range formerNames(is.object) {
			if old, ok := t.known[former]; ok && supersedes(is.object, old.object) {
				out[former] = name
			}
		}
	}
	return out
}

// rename fulfils the wishes for other names until ctx ends.
func (srv *Server) rename(ctx context.Context) {
	tick := time.NewTicker(renamePause)
	defer tick.Stop()
	for {
		wishes := srv.targets.wishes()
		for _, from := range slices.Sorted(maps.Keys(wishes)) {
			if err := srv.renameOne(ctx, from, wishes[from]); err != nil && ctx.Err() == nil {
				srv.cfg.Log.Warn("a SyncTarget could not be renamed; it is tried again",
					"target", from, "to", wishes[from], "err", err)
			}
		}
		if len(wishes) == 0 {
			tick.Stop()
		} else {
			tick.Reset(renamePause)
		}
		select {
		case <-srv.renames.wake:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// renameOne renames one target, or notes why that cannot be.
func (srv *Server) renameOne(ctx context.Context, from, to string) error {
	known, ok := srv.targets.get(from)
	if !ok || srv.cfg.Rename == nil {
		return nil
	}
	begun := srv.sameTarget(from, to)
	problem := renameProblem{}
	if !begun {
		if problem = srv.forbids(known, from, to); problem == (renameProblem{}) {
			var err error
			if problem, err = srv.meansLocation(ctx, to); err != nil {
				return err
			}
		}
	}
	srv.mu.Lock()
	changed := srv.renames.problems[from] != problem
	if srv.renames.problems[from] = problem; problem == (renameProblem{}) {
		delete(srv.renames.problems, from)
		srv.renames.pausing[from] = true
	}
	s := srv.sessions[from]
	srv.mu.Unlock()
	if changed {
		srv.targets.touch(from)
	}
	if problem != (renameProblem{}) {
		return nil
	}
	defer func() {
		srv.mu.Lock()
		delete(srv.renames.pausing, from)
		srv.mu.Unlock()
	}()
	if s != nil {
		s.cancel(tunnel.ErrDraining)
		if err := s.wait(ctx); err != nil {
			return fmt.Errorf("end its session: %w", err)
		}
	}
	if !begun {
		if err := srv.cfg.Inboxes.Copy(from, to); err != nil {
			srv.cfg.Log.Warn("the reports of a target that is renamed could not be copied; it sends them again",
				"target", from, "to", to, "err", err)
		}
	}
	err := srv.cfg.Rename.Rename(ctx, from, to)
	for try := 1; err != nil && try < renameTries && ondemand.Pause(ctx, renamePause/renameTries); try++ {
		err = srv.cfg.Rename.Rename(ctx, from, to)
	}
	if err != nil {
		return err
	}
	srv.targets.awaitRenamed(ctx, from, to)
	srv.cfg.Log.Info("a target was renamed", "target", to, "was", from)
	return nil
}

// sameTarget reports whether two names are of one SyncTarget that is being renamed.
func (srv *Server) sameTarget(from, to string) bool {
	a, _ := srv.targets.get(from)
	b, ok := srv.targets.get(to)
	return ok && a.object != nil && supersedes(b.object, a.object)
}

// withdrawn forgets why a target could not be renamed when that is not wished any more.
func (srv *Server) withdrawn(name string, obj *v1alpha1.SyncTarget) {
	srv.mu.Lock()
	problem, ok := srv.renames.problems[name]
	over := ok && obj.Annotations[v1alpha1.AnnotationRenameTo] != problem.to
	if over {
		delete(srv.renames.problems, name)
	}
	srv.mu.Unlock()
	if over {
		srv.targets.touch(name)
	}
}

// forbids says why a target cannot have another name; the zero value where it can.
func (srv *Server) forbids(is target, from, to string) renameProblem {
	s := srv.session(from)
	switch _, taken := srv.targets.get(to); {
	case len(validation.IsDNS1123Label(to)) > 0:
		return renameProblem{to, "InvalidName",
			fmt.Sprintf("site name %q: use lower-case letters, digits and '-', at most 63", to)}
	case to == v1alpha1.RootSpace || exchange.IsAPIRoot(to):
		return renameProblem{to, "InvalidName", fmt.Sprintf("%q cannot be the name of a site: choose another one", to)}
	case taken:
		return renameProblem{to, "NameTaken", fmt.Sprintf("there is another site %q: choose another name, or first: "+
			"skerry target remove %s", to, to)}
	case is.object.DeletionTimestamp != nil:
		return renameProblem{to, "Removed", fmt.Sprintf("the site %q is being removed", from)}
	case s == nil && is.key != "" && !isRevoked(is.object, is.key):
		return renameProblem{to, "Away", fmt.Sprintf("the site %q is not connected, and its agent has to learn the name: "+
			"rename it when it is back (skerry status %s)", from, from)}
	case s != nil && !s.hello.Renames:
		return renameProblem{to, "AgentTooOld", fmt.Sprintf("the agent of %q, %s, cannot take over another name: "+
			"upgrade it first", from, s.hello.AgentVersion)}
	}
	return renameProblem{}
}

// meansLocation says why a target cannot have the name of a Location: it would get all that is meant
// for that.
func (srv *Server) meansLocation(ctx context.Context, to string) (renameProblem, error) {
	client, err := srv.client()
	if err != nil {
		return renameProblem{}, fmt.Errorf("make a client: %w", err)
	}
	switch _, err = client.Resource(locations).Get(ctx, to, metav1.GetOptions{}); {
	case err == nil:
		return renameProblem{to, "NameTaken", fmt.Sprintf("there is a Location %q, and a wish for that name would mean "+
			"both: choose another name", to)}, nil
	case !apierrors.IsNotFound(err):
		return renameProblem{}, fmt.Errorf("look for a Location of the name: %w", err)
	}
	return renameProblem{}, nil
}

// awaitRenamed waits, not for ever, until a target is known by its new name alone.
func (t *targets) awaitRenamed(ctx context.Context, from, to string) {
	ctx, cancel := context.WithTimeout(ctx, awaitTime)
	defer cancel()
	for ctx.Err() == nil {
		t.mu.Lock()
		_, old := t.known[from]
		_, now := t.known[to]
		news := t.changed
		t.mu.Unlock()
		if now && !old {
			return
		}
		select {
		case <-news:
		case <-ctx.Done():
		}
	}
}

// renaming refuses a session while its target is renamed.
func (srv *Server) renaming(id tunnel.Identity) error {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if !srv.renames.pausing[id.Target] {
		return nil
	}
	return errRenaming(id.Target)
}

// errRenaming has an agent come back, to be known by its new name.
func errRenaming(name string) error {
	return &tunnel.Refused{Reason: "Renaming", RetryAfter: renamePause,
		Message: fmt.Sprintf("the site %q is being renamed; come back", name)}
}

// setRenamingCondition says in a status why a target does not have the name that is wished.
func (srv *Server) setRenamingCondition(st *v1alpha1.SyncTarget) {
	srv.mu.Lock()
	problem, ok := srv.renames.problems[st.Name]
	srv.mu.Unlock()
	if !ok || st.Annotations[v1alpha1.AnnotationRenameTo] != problem.to {
		apimeta.RemoveStatusCondition(&st.Status.Conditions, v1alpha1.ConditionRenaming)
		return
	}
	set(st, v1alpha1.ConditionRenaming, metav1.ConditionFalse, problem.reason, problem.message)
}

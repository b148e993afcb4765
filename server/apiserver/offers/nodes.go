package offers

import (
	"context"
	"strconv"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/rest"
	api "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/printers"
	printersinternal "k8s.io/kubernetes/pkg/printers/internalversion"
	printerstorage "k8s.io/kubernetes/pkg/printers/storage"

	"skerry.dev/skerry/server/apiserver/request"
)

// Nodes serves the Nodes of spaces, to be read.
type Nodes struct {
	rest.TableConvertor
	table *Table
}

// NewNodes returns the Nodes of a table.
func NewNodes(t *Table) *Nodes {
	return &Nodes{printerstorage.TableConvertor{
		TableGenerator: printers.NewTableGenerator().With(printersinternal.AddHandlers),
	}, t}
}

// New implements rest.Storage.
func (*Nodes) New() runtime.Object { return &api.Node{} }

// Destroy implements rest.Storage.
func (*Nodes) Destroy() {}

// NewList implements rest.Lister.
func (*Nodes) NewList() runtime.Object { return &api.NodeList{} }

// NamespaceScoped implements rest.Scoper.
func (*Nodes) NamespaceScoped() bool { return false }

// GetSingularName implements rest.SingularNameProvider.
func (*Nodes) GetSingularName() string { return "node" }

// ShortNames implements rest.ShortNamesProvider.
func (*Nodes) ShortNames() []string { return []string{"no"} }

// nodeIn is a Node as a space shows it: its UID is of this space alone.
func nodeIn(space string, n *api.Node) *api.Node {
	out := n.DeepCopy()
	out.UID = types.UID(uuid.NewSHA1(uuid.NameSpaceURL, []byte(space+"/nodes/"+string(n.UID))).String())
	return out
}

// Get implements rest.Getter.
func (s *Nodes) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	list, revision := s.table.of(ctx)
	if revision == 0 {
		return nil, errNotLoaded()
	}
	for _, t := range list {
		if t.name == name {
			return nodeIn(request.Space(ctx), t.node), nil
		}
	}
	return nil, apierrors.NewNotFound(api.Resource("nodes"), name)
}

// List implements rest.Lister. A limit is not obeyed: there is one Node for each target.
func (s *Nodes) List(ctx context.Context, o *internalversion.ListOptions) (runtime.Object, error) {
	list, revision := s.table.of(ctx)
	if revision == 0 {
		return nil, errNotLoaded()
	}
	out, selects := &api.NodeList{}, selectionOf(o)
	out.ResourceVersion = strconv.FormatInt(revision, 10)
	for _, t := range list {
		if selects.matches(t.node) {
			out.Items = append(out.Items, *nodeIn(request.Space(ctx), t.node))
		}
	}
	return out, nil
}

// Watch implements rest.Watcher.
func (s *Nodes) Watch(ctx context.Context, o *internalversion.ListOptions) (watch.Interface, error) {
	begins, err := beginsAt(o)
	if err != nil {
		return nil, err
	}
	w := newNodeWatch(s.table, request.Space(ctx), selectionOf(o))
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	switch {
	case s.table.revision == 0:
		return nil, errNotLoaded()
	case begins.initial:
		for _, t := range s.table.listLocked(w.space) {
			w.change(s.table.usesLocked, change{s.table.revision, nil, t})
		}
		if o != nil && o.SendInitialEvents != nil && o.AllowWatchBookmarks {
			w.bookmark(s.table.revision)
		}
	case !begins.now:
		missed, ok := s.table.sinceLocked(w.space, begins.after)
		if !ok {
			return nil, apierrors.NewResourceExpired("the changes of nodes since then are not remembered: list again")
		}
		for _, c := range missed {
			w.change(s.table.usesLocked, c)
		}
	}
	s.table.watches[w] = struct{}{}
	w.start()
	return w, nil
}

// beginning is where a watch begins: with what there is, now, or after a revision.
type beginning struct {
	initial, now bool
	after        int64
}

func beginsAt(o *internalversion.ListOptions) (beginning, error) {
	if o == nil {
		return beginning{initial: true}, nil
	}
	newest := o.ResourceVersion == "" || o.ResourceVersion == "0"
	if asked := o.SendInitialEvents; asked != nil && (*asked || newest) {
		return beginning{initial: *asked, now: !*asked}, nil
	}
	if newest {
		return beginning{initial: true}, nil
	}
	after, err := strconv.ParseInt(o.ResourceVersion, 10, 64)
	if err != nil || after < 0 {
		return beginning{}, apierrors.NewBadRequest("resourceVersion: it is a number that a list or an object had")
	}
	return beginning{after: after}, nil
}

// selection is what a reader asks for.
type selection struct {
	labels labels.Selector
	fields fields.Selector
}

func selectionOf(o *internalversion.ListOptions) selection {
	s := selection{labels.Everything(), fields.Everything()}
	if o != nil && o.LabelSelector != nil {
		s.labels = o.LabelSelector
	}
	if o != nil && o.FieldSelector != nil {
		s.fields = o.FieldSelector
	}
	return s
}

func (s selection) matches(n *api.Node) bool {
	return s.labels.Matches(labels.Set(n.Labels)) && s.fields.Matches(fields.Set{
		"metadata.name": n.Name, "spec.unschedulable": strconv.FormatBool(n.Spec.Unschedulable),
	})
}

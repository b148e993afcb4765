package events

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/audit"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
	api "k8s.io/kubernetes/pkg/apis/core"
	eventregistry "k8s.io/kubernetes/pkg/registry/core/event"
	eventstore "k8s.io/kubernetes/pkg/registry/core/event/storage"

	auditlog "skerry.dev/skerry/server/apiserver/audit"
	"skerry.dev/skerry/server/apiserver/request"
	onsite "skerry.dev/skerry/tunnel/events"
	"skerry.dev/skerry/tunnel/exchange"
)

// Objects are those of spaces about which sites may have something to say.
type Objects struct {
	sites  exchange.Sites
	byKind map[string]rest.Getter
}

// New returns Objects that sites are asked about.
func New(sites exchange.Sites) *Objects {
	return &Objects{sites: sites, byKind: map[string]rest.Getter{}}
}

// object is one about which sites are asked.
type object struct {
	kind string
	is   metav1.Object
}

// Use takes the storages of an API group and a version. All have to be there before the first list.
func (o *Objects) Use(group, version string, m map[string]rest.Storage) {
	for _, name := range onsite.Kinds() {
		k, _ := onsite.KindOf(name)
		if getter, ok := m[k.Resource].(rest.Getter); ok && k.Group == group && k.Version == version {
			o.byKind[name] = getter
		}
	}
}

// Wrap has the storage of Events show what sites say.
func (o *Objects) Wrap(m map[string]rest.Storage) {
	m["events"] = &storage{REST: m["events"].(*eventstore.REST), objects: o}
}

// storage is the resource events, with all that the stored one does.
type storage struct {
	*eventstore.REST
	objects *Objects
}

var (
	_ rest.StandardStorage      = (*storage)(nil)
	_ rest.ShortNamesProvider   = (*storage)(nil)
	_ rest.SingularNameProvider = (*storage)(nil)
)

// List implements rest.Lister.
func (s *storage) List(ctx context.Context, o *internalversion.ListOptions) (runtime.Object, error) {
	found, err := s.REST.List(ctx, o)
	if err != nil || request.FromCenter(ctx) {
		return found, err
	}
	namespace := apirequest.NamespaceValue(ctx)
	of, ok := selectedBy(o, namespace)
	list, isList := found.(*api.EventList)
	if !ok && isList && request.Space(ctx) != request.RootSpace && looksForMore(o, list) {
		warning.AddWarning(ctx, "", "sites report warnings alone; what else happened to an object they are asked by: "+
			"kubectl events --for KIND/NAME")
	}
	if !ok || !isList || list.Continue != "" { // what sites say comes with the last part
		return found, nil
	}
	live := s.objects.ask(ctx, namespace, s.objects.find(ctx, of))
	if len(live) == 0 {
		return found, nil
	}
	stored := list
	if o.Continue != "" { // the parts before this one are known events, too
		whole := &internalversion.ListOptions{FieldSelector: o.FieldSelector, ResourceVersion: "0"}
		all, err := s.REST.List(ctx, whole)
		if err != nil {
			return nil, err
		}
		stored = all.(*api.EventList)
	}
	return merge(list, stored, live, o), nil
}

// looksForMore reports whether somebody who lists Events of many namespaces sees none, although there may be some
// at sites. Controllers, which list what a cache has, are not told.
func looksForMore(o *internalversion.ListOptions, list *api.EventList) bool {
	return len(list.Items) == 0 && list.Continue == "" && (o == nil || byHand(o))
}

// merge returns a list with those live Events that the selectors take and that are not stored.
func merge(list, stored *api.EventList, live []api.Event, o *internalversion.ListOptions) *api.EventList {
	known := map[string]bool{}
	for i := range stored.Items {
		known[stored.Items[i].Name] = true
	}
	out := &api.EventList{ListMeta: list.ListMeta, Items: slices.Clone(list.Items)}
	byField := fieldsOf(o)
	for i := range live {
		e := &live[i]
		if known[e.Name] || o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(e.Labels)) ||
			!byField.Matches(eventregistry.ToSelectableFields(e)) {
			continue
		}
		known[e.Name] = true
		out.Items = append(out.Items, *e)
	}
	slices.SortStableFunc(out.Items, func(a, b api.Event) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// find looks up what a selector names, the newest first: of many only some can be asked about.
func (o *Objects) find(ctx context.Context, of selected) (out []object) {
	if of.name == "" {
		for _, kind := range of.kinds() {
			out = append(out, o.all(ctx, kind)...)
		}
		slices.SortStableFunc(out, func(a, b object) int {
			return b.is.GetCreationTimestamp().Compare(a.is.GetCreationTimestamp().Time)
		})
		return out
	}
	for _, kind := range of.kinds() {
		getter := o.byKind[kind]
		if getter == nil {
			continue
		}
		found, err := getter.Get(ctx, of.name, &metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		var about metav1.Object
		if err == nil {
			about, err = meta.Accessor(found)
		}
		if err != nil {
			warning.AddWarning(ctx, "", fmt.Sprintf(
				"of %s %s only the events that its sites have reported are shown: it cannot be read: %s",
				kind, of.name, err))
			continue
		}
		if of.uid == "" || of.uid == string(about.GetUID()) {
			out = append(out, object{kind, about})
		}
	}
	return out
}

// all lists the objects of a kind.
func (o *Objects) all(ctx context.Context, kind string) (out []object) {
	lister, ok := o.byKind[kind].(rest.Lister)
	if !ok {
		return nil
	}
	list, err := lister.List(ctx, &internalversion.ListOptions{ResourceVersion: "0"})
	if err == nil {
		err = meta.EachListItem(list, func(item runtime.Object) error {
			about, err := meta.Accessor(item)
			out = append(out, object{kind, about})
			return err
		})
	}
	if err != nil {
		warning.AddWarning(ctx, "", fmt.Sprintf(
			"of each %s only the events that its sites have reported are shown: they cannot be read: %s", kind, err))
		return nil
	}
	return out
}

// ask asks the sites where objects are for what they say about them.
func (o *Objects) ask(
	ctx context.Context,
	namespace string,
	about []object,
) (out []api.Event) {
	var places []onsite.Place
	uids := map[[2]string]types.UID{}
	for _, o := range about {
		uids[[2]string{o.kind, o.is.GetName()}] = o.is.GetUID()
		places = append(places,
			onsite.Places(o.kind, o.is.GetName(), string(o.is.GetUID()), o.is.GetAnnotations())...)
	}
	if len(places) == 0 {
		return nil
	}
	from := &exchange.Request{Space: request.Space(ctx), Namespace: namespace}
	if u, ok := apirequest.UserFrom(ctx); ok {
		from.Identify(u.GetName(), u.GetGroups())
	}
	list := onsite.List(ctx, o.sites, from, places)
	audit.AddAuditAnnotation(ctx, auditlog.Path, strings.Join(list.Sites, ","))
	for _, text := range list.Lacks {
		warning.AddWarning(ctx, "", text)
	}
	for _, e := range list.Events {
		out = append(out, convert(e, namespace, uids[[2]string{e.Place.Kind, e.Place.Name}]))
	}
	return out
}

package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/lease"
)

// unit is what moves together: the objects of a Placement, those of a namespace that nothing else
// places, or one object with a label of its own.
type unit struct {
	key       store.Key // of what holds the decision
	decision  []string
	wish      placement.Wish
	rule      *placement.Rule // of a Placement
	offered   labels.Selector // targets that the space may use; nil for all
	load      placement.Load
	ties      map[string]ties // per target
	suspended bool
	orphans   bool // what leaves a target goes on there
}

// ties are what a unit has on a target that it cannot just leave: claims, what two sites must not run, of that what
// would run on where it leaves, and what runs until it ends.
type ties struct{ volumes, once, runsOn, begun []string }

// fleetState is what there is to decide about, as the center would read it.
type fleetState struct {
	world placement.World // of the whole center
	units []*unit
}

var (
	locations  = v1alpha1.GroupVersion.WithResource("locations")
	placements = v1alpha1.GroupVersion.WithResource("placements")
	claims     = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	// weighed are the kinds that run pods, and claims, whose volumes do not travel.
	weighed = []schema.GroupVersionResource{
		{Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: "apps", Version: "v1", Resource: "statefulsets"},
		{Group: "apps", Version: "v1", Resource: "daemonsets"},
		{Group: "apps", Version: "v1", Resource: "replicasets"},
		{Group: "batch", Version: "v1", Resource: "jobs"},
		{Group: "batch", Version: "v1", Resource: "cronjobs"},
		{Version: "v1", Resource: "replicationcontrollers"},
		{Version: "v1", Resource: "pods"},
		claims,
	}
)

// fleetState reads the targets and the units of all spaces. Spaces that cannot be read are an error:
// a plan without them would be wrong.
func (c *center) fleetState(ctx context.Context) (*fleetState, error) {
	state := &fleetState{}
	sites, _, err := c.sites(ctx, selection{})
	if err != nil {
		return nil, err
	}
	for i := range sites {
		state.world.Targets = append(state.world.Targets, targetOf(&sites[i]))
	}
	list, err := c.listAll(ctx, locations, selection{})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		var l v1alpha1.Location
		if err := convert(&list.Items[i], &l); err != nil {
			return nil, err
		}
		if s, err := metav1.LabelSelectorAsSelector(&l.Spec.Selector); err == nil {
			state.world.Locations = append(state.world.Locations, placement.Location{Name: l.Name, Selector: s})
		}
	}
	if list, err = c.listAll(ctx, spaces, selection{}); err != nil {
		return nil, err
	}
	for i := range list.Items {
		var s v1alpha1.Space
		if err := convert(&list.Items[i], &s); err != nil {
			return nil, err
		}
		units, err := c.unitsOf(ctx, &s)
		if err != nil {
			return nil, fmt.Errorf("read space %s: %w", s.Name, err)
		}
		state.units = append(state.units, units...)
	}
	slices.SortFunc(state.units, func(a, b *unit) int { return strings.Compare(a.key.String(), b.key.String()) })
	return state, nil
}

// targetOf is a SyncTarget as decisions see it.
func targetOf(t *v1alpha1.SyncTarget) placement.Target {
	out := placement.Target{
		Name: t.Name, Labels: t.Labels, Unschedulable: t.Spec.Unschedulable || t.DeletionTimestamp != nil,
		Connected: apimeta.IsStatusConditionTrue(t.Status.Conditions, v1alpha1.ConditionConnected),
		Objects:   int(t.Status.Objects),
	}
	b := t.Status.Below
	out.Empty = t.Status.Relay && (b == nil || b.Targets == nil || *b.Targets == 0)
	out.Taints = t.Spec.Taints
	out.Removing = t.DeletionTimestamp != nil && t.Spec.DetachPolicy.Empties()
	out.Discard = t.Spec.DetachPolicy == v1alpha1.DetachDiscard
	if t.Spec.EvictAfter != nil {
		out.EvictAfter = t.Spec.EvictAfter.Duration
	}
	if c := apimeta.FindStatusCondition(t.Status.Conditions, v1alpha1.ConditionConnected); c != nil && !out.Connected {
		out.AwaySince = c.LastTransitionTime.Time
	}
	out.RestartJobs = t.Spec.Drain != nil && t.Spec.Drain.Jobs == v1alpha1.DrainJobsRestart
	out.Bounds = t.Spec.Bounds
	if st := t.Status; t.Spec.Elastic != nil && !*t.Spec.Elastic {
		out.Nodes = placement.NodesOf(st.Allocatable, st.Allocated, st.AllocatedPlaced)
	}
	if r := t.Status.Requested; r != nil {
		if r.CPU != nil {
			out.Requested.CPU = r.CPU.MilliValue()
		}
		if r.Memory != nil {
			out.Requested.Memory = r.Memory.Value()
		}
		if r.Pods != nil {
			out.Requested.Pods = *r.Pods
		}
	}
	return out
}

func convert(from *unstructured.Unstructured, to any) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, to); err != nil {
		return fmt.Errorf("read %s %s: %w", from.GetKind(), from.GetName(), err)
	}
	return nil
}

// spaceReader reads the units of one space.
type spaceReader struct {
	name     string
	client   dynamic.Interface
	offered  labels.Selector
	fallback placement.Wish
	rules    []*placement.Rule
	of       map[string]*unit // by key
	labels   map[string]labels.Set
}

func (c *center) unitsOf(ctx context.Context, s *v1alpha1.Space) ([]*unit, error) {
	config := rest.CopyConfig(c.config)
	config.Host = c.spaceURL(s.Name)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	r := &spaceReader{name: s.Name, client: client, of: map[string]*unit{}, labels: map[string]labels.Set{}}
	if s.Spec.LocationSelector != nil {
		if r.offered, err = metav1.LabelSelectorAsSelector(s.Spec.LocationSelector); err != nil {
			return nil, err
		}
	}
	if d := s.Spec.DefaultTargets; d != nil {
		selector := labels.Everything()
		if d.Selector != nil {
			if selector, err = metav1.LabelSelectorAsSelector(d.Selector); err != nil {
				return nil, err
			}
		}
		r.fallback = placement.Wish{Selectors: []labels.Selector{selector}, Count: max(1, int(d.Count))}
	}
	if err := r.each(ctx, placements, r.placement); err != nil {
		return nil, err
	}
	placement.Sort(r.rules)
	if err := r.each(ctx, namespaces, r.namespace); err != nil {
		return nil, err
	}
	for _, kind := range weighed {
		if err := r.each(ctx, kind, func(o *unstructured.Unstructured) error { return r.object(kind, o) }); err != nil {
			return nil, err
		}
	}
	units := make([]*unit, 0, len(r.of))
	for _, u := range r.of {
		if len(u.decision) > 0 {
			units = append(units, u)
		}
	}
	return units, nil
}

// each visits the objects of a kind, page by page.
func (r *spaceReader) each(
	ctx context.Context, kind schema.GroupVersionResource, visit func(*unstructured.Unstructured) error,
) error {
	options := metav1.ListOptions{Limit: page}
	for {
		list, err := r.client.Resource(kind).List(ctx, options)
		if apierrors.IsNotFound(err) {
			return nil // the space does not serve it
		} else if err != nil {
			return fmt.Errorf("list %s: %w", kind.Resource, err)
		}
		for i := range list.Items {
			if err := visit(&list.Items[i]); err != nil {
				return err
			}
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

func (r *spaceReader) placement(o *unstructured.Unstructured) error {
	var p v1alpha1.Placement
	if err := convert(o, &p); err != nil {
		return err
	}
	rule, err := placement.Compile(p.Name, p.CreationTimestamp.UTC().Format("2006-01-02T15:04:05Z"), p.Spec)
	if err != nil {
		return nil // the center keeps what it understood before
	}
	r.rules = append(r.rules, rule)
	r.unit(store.Key{Group: v1alpha1.GroupVersion.Group, Resource: "placements", Name: p.Name}, func(u *unit) {
		u.decision, u.wish, u.rule, u.suspended = p.Status.Decision, rule.Wish, rule, p.Spec.Suspend
		u.orphans = p.Spec.Sync.WhenPlacementDeleted == v1alpha1.PlacementOrphan
	})
	return nil
}

func (r *spaceReader) namespace(o *unstructured.Unstructured) error {
	r.labels[o.GetName()] = o.GetLabels()
	r.unit(store.Key{Resource: "namespaces", Name: o.GetName()}, func(u *unit) { r.decided(u, o) })
	return nil
}

// decided takes over where an object is that holds a decision of its own.
func (r *spaceReader) decided(u *unit, o *unstructured.Unstructured) {
	u.decision = placement.Split(o.GetAnnotations()[v1alpha1.AnnotationTargets])
	u.wish = r.fallback
	if label := o.GetLabels()[v1alpha1.LabelTarget]; label != "" {
		u.wish = placement.Wish{Names: []string{label}, Count: max(1, r.fallback.Count)}
	}
}

// unit returns the unit of a key, made by begin when it is new.
func (r *spaceReader) unit(k store.Key, begin func(*unit)) *unit {
	k.Space = r.name
	u := r.of[k.String()]
	if u == nil {
		u = &unit{key: k, offered: r.offered, ties: map[string]ties{}}
		begin(u)
		r.of[k.String()] = u
	}
	return u
}

// object adds what an object asks for to the unit that decides about it.
func (r *spaceReader) object(kind schema.GroupVersionResource, o *unstructured.Unstructured) error {
	k := store.Key{
		Space: r.name, Group: kind.Group, Resource: kind.Resource, Namespace: o.GetNamespace(), Name: o.GetName(),
	}
	finalizers, _, _ := unstructured.NestedSlice(o.Object, "metadata", "finalizers")
	if placement.Excluded(k, o.Object) || placement.Finished(k, o.Object) ||
		o.GetDeletionTimestamp() != nil && !placement.Held(k, finalizers) {
		return nil
	}
	var u *unit
	subject := placement.Subject{Key: k, Labels: labels.Set(o.GetLabels()), NamespaceLabels: r.labels[k.Namespace]}
	if o.GetLabels()[v1alpha1.LabelTarget] != "" {
		u = r.unit(k, func(u *unit) { r.decided(u, o) })
	} else if rule, _ := placement.Resolve(r.rules, subject); rule != nil {
		u = r.of[store.Key{
			Space: r.name, Group: v1alpha1.GroupVersion.Group, Resource: "placements", Name: rule.Name,
		}.String()]
	} else {
		u = r.of[store.Key{Space: r.name, Resource: "namespaces", Name: k.Namespace}.String()]
	}
	if u == nil {
		return nil // it came between two lists
	}
	u.load.Objects++
	u.load.Requests = u.load.Requests.Plus(placement.RequestsOf(k, o.Object))
	text := kind.Resource + "/" + k.Name
	volume := kind == claims || kind.Resource == "statefulsets" && placement.HasClaimTemplates(o.Object)
	work, _ := lease.Read(k, o.Object)
	status, _ := json.Marshal(o.Object["status"]) // it was JSON
	begun := placement.Ends(k, o.Object) &&
		(o.Object["status"] == nil || placement.Judge(k, store.Report{Status: status}).Begun)
	breaks := u.rule != nil && u.rule.BreakFirst && lease.MayRunOnce(k.Group, k.Resource)
	for _, at := range placement.Split(o.GetAnnotations()[v1alpha1.AnnotationTargets]) {
		t := u.ties[at]
		if volume {
			t.volumes = append(t.volumes, text)
		}
		if volume || work.Once || breaks {
			t.once = append(t.once, text)
		}
		if u.orphans && (work.Once || breaks) {
			t.runsOn = append(t.runsOn, text)
		}
		if begun {
			t.begun = append(t.begun, text)
		}
		u.ties[at] = t
	}
	return nil
}

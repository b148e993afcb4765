package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"skerry.dev/skerry/server/api/v1alpha1"
)

const (
	// importWriters is how many objects of one kind are written at once.
	importWriters = 8
	// importPatience is how long a kind may take to be served after its definition was written.
	importPatience = 15 * time.Second
	// maxRefusals is how many refusals are told in full.
	maxRefusals = 20
)

// importer writes the objects of a file into a space.
type importer struct {
	ImportOptions
	plan  importPlan
	api   dynamic.Interface
	kinds map[schema.GroupVersionResource]exportKind
	done  atomic.Int64

	mu       sync.Mutex
	owners   map[types.UID]types.UID // from what it was to what it is
	waiting  map[int]bool            // objects of the file whose owners are not there yet
	last     bool                    // owners that are not there now never will be
	refused  int
	messages []string
}

func (c *center) newImporter(_ context.Context, o ImportOptions, p importPlan) (*importer, error) {
	api, err := c.space(o.Name)
	if err != nil {
		return nil, err
	}
	i := &importer{
		ImportOptions: o,
		plan:          p,
		api:           api,
		kinds:         map[schema.GroupVersionResource]exportKind{},
		owners:        map[types.UID]types.UID{},
	}
	for _, k := range api.kinds {
		i.kinds[k.GroupVersionResource] = k
	}
	return i, nil
}

// run reads the file again until every object has been written or refused: those that are owned
// come after their owners.
func (i *importer) run(ctx context.Context) error {
	for {
		before := i.waiting
		i.waiting = map[int]bool{}
		if err := i.pass(ctx, before); err != nil {
			return err
		}
		switch {
		case len(i.waiting) == 0:
			return nil
		case before != nil && len(i.waiting) == len(before):
			i.last = true // owners that were not exported: what they own is nobody's now
		}
	}
}

// pass writes the objects of these numbers, nil being all. Kinds follow one another; objects of one
// kind are written at once.
func (i *importer) pass(ctx context.Context, only map[int]bool) error {
	writers, current := group(ctx), ""
	_, err := readExport(i.File, func(n int, e exportedObject) error {
		if only != nil && !only[n] {
			return nil
		}
		if kind := resourceOf(e).String(); kind != current {
			if err := writers.Wait(); err != nil {
				return err
			}
			writers, current = group(ctx), kind
		}
		o := &unstructured.Unstructured{Object: e.Object}
		if !i.adopt(o) {
			i.waiting[n] = true
			return nil
		}
		writers.Go(func() error { return i.write(ctx, e, o) })
		return ctx.Err()
	})
	return errors.Join(writers.Wait(), err)
}

func group(ctx context.Context) *errgroup.Group {
	g, _ := errgroup.WithContext(ctx)
	g.SetLimit(importWriters)
	return g
}

// adopt names the owners of an object by what they are here. It is false while one of them is not
// there.
func (i *importer) adopt(o *unstructured.Unstructured) bool {
	refs := o.GetOwnerReferences()
	if len(refs) == 0 {
		return true
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	kept := refs[:0]
	for _, r := range refs {
		now, here := i.owners[r.UID]
		if !here && !i.last {
			return false
		}
		if here {
			r.UID = now
			kept = append(kept, r)
		}
	}
	o.SetOwnerReferences(kept)
	return true
}

// write creates an object. What exists was written by the part of the import that was interrupted,
// or is in every space. An error ends the import; a refusal does not.
func (i *importer) write(ctx context.Context, e exportedObject, o *unstructured.Unstructured) error {
	gvr := resourceOf(e)
	was := o.GetUID()
	status := e.Object["status"]
	if err := i.prepare(gvr, o); err != nil {
		return err
	}
	api := i.of(gvr, o.GetNamespace())
	var made *unstructured.Unstructured
	err := retry(ctx, gvr, func() (err error) {
		made, err = api.Create(ctx, o, metav1.CreateOptions{FieldManager: "skerry-cli"})
		return err
	})
	if apierrors.IsAlreadyExists(err) {
		made, err = i.exists(ctx, gvr, api, o)
	}
	if err == nil && i.Status && status != nil && i.hasStatus(gvr) {
		err = i.writeStatus(ctx, api, o.GetName(), status)
	}
	switch {
	case err == nil:
		i.Progress.Count("objects written", int(i.done.Add(1)), i.plan.objects)
		if i.plan.owners[was] {
			i.mu.Lock()
			i.owners[was] = made.GetUID()
			i.mu.Unlock()
		}
		return nil
	case isRefusal(err):
		i.refuse(gvr, o, err)
		return nil
	default:
		return err
	}
}

func (i *importer) of(gvr schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return i.api.Resource(gvr)
	}
	return i.api.Resource(gvr).Namespace(namespace)
}

// exists takes over what is there already.
func (i *importer) exists(
	ctx context.Context,
	gvr schema.GroupVersionResource,
	api dynamic.ResourceInterface,
	o *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if gvr != namespaces && (gvr.Resource != "serviceaccounts" || o.GetName() != "default") {
		return api.Get(ctx, o.GetName(), metav1.GetOptions{})
	}
	// In every space; what users have changed about it is brought along.
	notes := o.GetAnnotations()
	delete(notes, v1alpha1.AnnotationImport)
	patch := map[string]any{"metadata": map[string]any{"labels": o.GetLabels(), "annotations": notes}}
	for _, field := range []string{"imagePullSecrets", "automountServiceAccountToken"} {
		if v, ok := o.Object[field]; ok {
			patch[field] = v
		}
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	return api.Patch(ctx, o.GetName(), types.MergePatchType, data, metav1.PatchOptions{FieldManager: "skerry-cli"})
}

func (i *importer) writeStatus(ctx context.Context, api dynamic.ResourceInterface, name string, status any) error {
	data, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	_, err = api.Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{FieldManager: "skerry-cli"}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil // a custom resource without the subresource has its status in the object
	}
	return err
}

// retry waits for a kind whose definition has just been written.
func retry(ctx context.Context, gvr schema.GroupVersionResource, do func() error) error {
	deadline := time.Now().Add(importPatience)
	for {
		err := do()
		custom := strings.Contains(gvr.Group, ".") && !strings.HasSuffix(gvr.Group, ".k8s.io")
		if !custom || !apierrors.IsNotFound(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// isRefusal tells an answer about this object from a center that cannot be asked now.
func isRefusal(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && answer.Status().Code >= 400 && answer.Status().Code < 500 &&
		!apierrors.IsTooManyRequests(err) &&
		!apierrors.IsUnauthorized(err)
}

func (i *importer) refuse(gvr schema.GroupVersionResource, o *unstructured.Unstructured, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.refused++; i.refused <= maxRefusals {
		name := o.GetName()
		if o.GetNamespace() != "" {
			name = o.GetNamespace() + "/" + name
		}
		i.messages = append(i.messages, fmt.Sprintf("  %s %s: %s", gvr.GroupResource(), name, err))
	}
}

// refusals is an error when objects were refused.
func (i *importer) refusals() error {
	if i.refused == 0 {
		return nil
	}
	return fmt.Errorf(
		"%d objects were refused; mend what they say and run the same command again, it goes on with them:\n%s",
		i.refused,
		strings.Join(i.messages, "\n"),
	)
}

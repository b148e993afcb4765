package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"skerry.dev/skerry/server/api/v1alpha1"
)

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// ImportOptions say what is imported, and how much of what it was.
type ImportOptions struct {
	Kubeconfig string
	Name       string // of the space here
	File       string
	Piped      bool // File is of this moment, and came from standard input
	// UIDs keeps UIDs, ages, generations and field managers. Only an admin of the center may.
	UIDs bool
	// Status keeps statuses.
	Status bool
	DryRun bool
	Wait   time.Duration // for the space to be ready
	// Progress says how far it is.
	Progress *Progress
	Out      io.Writer
}

// called is what people know the file as.
func (o *ImportOptions) called() string {
	if o.Piped {
		return "standard input"
	}
	return o.File
}

// ImportSpace makes a space of an exported one. The file is checked as a whole before anything is
// written; an import that was interrupted goes on when it is started again. Memory does not grow
// with the space, but for the UIDs of owners.
func ImportSpace(ctx context.Context, o ImportOptions) error {
	if err := checkSpaceName(o.Name); err != nil {
		return err
	}
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	defer o.Progress.Done()
	o.Progress.Step("checking %s", o.called())
	plan, err := planImport(o.File)
	if err != nil {
		return err
	}
	begun, err := c.mayImport(ctx, o.Name, plan.header)
	if err != nil {
		return err
	}
	if o.DryRun {
		o.Progress.Done()
		return c.describeImport(o, plan, begun)
	}
	if !begun {
		o.Progress.Step("creating space %s", o.Name)
		if err := c.beginImport(ctx, o, plan.header); err != nil {
			return err
		}
	}
	o.Progress.Step("writing %d objects", plan.objects)
	i, err := c.newImporter(ctx, o, plan)
	if err != nil {
		return err
	}
	if err := i.run(ctx); err != nil {
		return fmt.Errorf(
			"import into space %s was interrupted after %d objects; the same command goes on with it: %w",
			o.Name,
			i.done.Load(),
			err,
		)
	}
	o.Progress.Done()
	fmt.Fprintf(
		o.Out,
		"%d of %d objects of space %q are in space %q.\n",
		i.done.Load(),
		plan.objects,
		plan.header.Space,
		o.Name,
	)
	if err := i.refusals(); err != nil {
		return err
	}
	if err := c.noteImport(ctx, o.Name, nil); err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "Use it:  skerry space use %s\n", o.Name)
	return err
}

// importPlan is what a first reading of the file tells.
type importPlan struct {
	header  exportHeader
	objects int
	kinds   map[schema.GroupVersionResource]int
	owners  map[types.UID]bool // that other objects name
	defined map[schema.GroupResource]bool
}

func planImport(file string) (p importPlan, err error) {
	p.kinds = map[schema.GroupVersionResource]int{}
	p.owners = map[types.UID]bool{}
	p.defined = map[schema.GroupResource]bool{}
	p.header, err = readExport(file, func(_ int, e exportedObject) error {
		o := &unstructured.Unstructured{Object: e.Object}
		gvr := resourceOf(e)
		p.objects++
		p.kinds[gvr]++
		for _, owner := range o.GetOwnerReferences() {
			p.owners[owner.UID] = true
		}
		if gvr.Resource == "customresourcedefinitions" {
			resource, group, _ := strings.Cut(o.GetName(), ".")
			p.defined[schema.GroupResource{Group: group, Resource: resource}] = true
		}
		return nil
	})
	return p, err
}

func resourceOf(e exportedObject) schema.GroupVersionResource {
	version, _, _ := unstructured.NestedString(e.Object, "apiVersion")
	gv, _ := schema.ParseGroupVersion(version) // a wrong one names no kind that is served
	return gv.WithResource(e.Resource)
}

// mayImport reports whether an import of this very export into the space has begun before.
func (c *center) mayImport(ctx context.Context, name string, h exportHeader) (begun bool, err error) {
	s, err := c.root.Resource(spaces).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for space %s: %w", name, err)
	case s.GetAnnotations()[v1alpha1.AnnotationImport] != h.ID:
		return false, fmt.Errorf("space %q exists already, and not from this import; import under another name", name)
	}
	return true, nil
}

// beginImport creates the Space, with the annotation of a Space that is being imported.
func (c *center) beginImport(ctx context.Context, o ImportOptions, h exportHeader) error {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": h.Spec}}
	obj.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Space"))
	obj.SetName(o.Name)
	obj.SetLabels(h.Labels)
	obj.SetAnnotations(map[string]string{v1alpha1.AnnotationImport: h.ID})
	if _, err := c.root.Resource(spaces).Create(ctx, obj, metav1.CreateOptions{FieldManager: "skerry-cli"}); err != nil {
		return fmt.Errorf("create space %s: %w", o.Name, err)
	}
	_, err := c.waitReady(ctx, o.Name, o.Wait)
	return err
}

// noteImport sets the annotation of an import; a nil id removes it.
func (c *center) noteImport(ctx context.Context, name string, id any) error {
	patch, err := json.Marshal(
		map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationImport: id}}},
	)
	if err != nil {
		return err
	}
	_, err = c.root.Resource(
		spaces,
	).Patch(
		ctx,
		name,
		types.MergePatchType,
		patch,
		metav1.PatchOptions{FieldManager: "skerry-cli"},
	)
	if err != nil {
		return fmt.Errorf("note on space %s that it is imported: %w", name, err)
	}
	return nil
}

// errNotServed is returned when a file has kinds that the center does not know.
var errNotServed = errors.New("this center does not serve every kind of the export")

// describeImport says what an import would do.
func (c *center) describeImport(o ImportOptions, p importPlan, begun bool) error {
	where := v1alpha1.RootSpace // every space serves what root does, but for its definitions
	if begun {
		where = o.Name
	}
	api, err := c.space(where)
	if err != nil {
		return err
	}
	served := map[schema.GroupVersionResource]bool{}
	for _, k := range api.kinds {
		served[k.GroupVersionResource] = true
	}
	fmt.Fprintf(
		o.Out,
		"%s: space %q at revision %s, exported %s: %d objects.\n",
		o.called(),
		p.header.Space,
		p.header.Revision,
		p.header.Made.Format(time.RFC3339),
		p.objects,
	)
	missing := 0
	kinds := slices.SortedFunc(
		maps.Keys(p.kinds),
		func(a, b schema.GroupVersionResource) int { return strings.Compare(a.String(), b.String()) },
	)
	for _, k := range kinds {
		note := ""
		own := k.Group == v1alpha1.GroupVersion.Group // served in spaces, not all of them in root
		if !served[k] && !p.defined[k.GroupResource()] && !own {
			note = "   NOT SERVED HERE"
			missing++
		}
		fmt.Fprintf(
			o.Out,
			"  %6d %s%s\n",
			p.kinds[k],
			strings.TrimPrefix(k.Group+"/"+k.Version+"/"+k.Resource, "/"),
			note,
		)
	}
	what := "would be created"
	if begun {
		what = "has begun to be imported; the import would go on"
	}
	fmt.Fprintf(o.Out, "Space %q %s. Nothing was changed.\n", o.Name, what)
	if missing > 0 {
		return fmt.Errorf("%w: %d are marked above", errNotServed, missing)
	}
	return nil
}

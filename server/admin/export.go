package admin

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/tunnel/commandline"
	"skerry.dev/skerry/tunnel/output"
)

// exportPage is how many objects are read at once, and so held in memory.
const exportPage = 100

// ExportOptions say what is exported where.
type ExportOptions struct {
	Kubeconfig string
	Name       string
	File       string // must not exist
	Piped      bool   // File is of this moment, and goes to standard output
	Progress   *Progress
	Out        io.Writer
}

// spaceAPI is the caller's access to one space.
type spaceAPI struct {
	dynamic.Interface
	kinds []exportKind
}

func (c *center) space(name string) (*spaceAPI, error) {
	config := rest.CopyConfig(c.config)
	config.Host = c.spaceURL(name)
	config.WarningHandlerWithContext = rest.NoWarnings{} // about versions, which nobody here can change
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	kinds, err := exportKinds(d)
	if err != nil {
		return nil, err
	}
	api, err := dynamic.NewForConfig(config)
	return &spaceAPI{api, kinds}, err
}

// ExportSpace writes all that users have in a space to one file: everything as it was at one
// revision, with UIDs, statuses and who manages which fields, so that the import can choose. Memory
// does not grow with the space.
func ExportSpace(ctx context.Context, o ExportOptions) (err error) {
	c, err := open(o.Kubeconfig)
	if err != nil {
		return err
	}
	if o.Name == v1alpha1.RootSpace {
		return Usage("root is the center's own space and cannot be exported; see: skerry center backup")
	}
	if err := c.mustExist(ctx, o.Name); err != nil {
		return err
	}
	object, err := c.root.Resource(spaces).Get(ctx, o.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read space %s: %w", o.Name, err)
	}
	api, err := c.space(o.Name)
	if err != nil {
		return err
	}
	o.Progress.Step("looking for what %d kinds of space %s have", len(api.kinds), o.Name)
	revision, err := api.revision(ctx)
	if err != nil {
		return err
	}
	spec, _, _ := unstructured.NestedMap(object.Object, "spec")
	w, err := newExportWriter(
		o.File,
		exportHeader{Format: exportFormat, ID: rand.Text(), Space: o.Name, Spec: spec, Labels: object.GetLabels(),
			Revision: revision, Made: time.Now().UTC().Truncate(time.Second)},
	)
	if err != nil {
		return err
	}
	for _, k := range api.kinds {
		if err == nil {
			if w.n > 0 {
				o.Progress.Count("objects written", w.n, 0)
			}
			err = api.export(ctx, k, revision, w)
		}
	}
	o.Progress.Done()
	if err := w.finish(err); err != nil {
		return fmt.Errorf("export space %s: %w", o.Name, output.Full(err, "-o"))
	}
	file, called := commandline.Word(o.File), o.File
	if o.Piped {
		file, called = "-", "what went to standard output"
	}
	_, err = fmt.Fprintf(o.Out, "%s holds the %d objects of space %q at revision %s, Secrets among them.\n"+
		"Import it into another center:  skerry space import %s -f %s --kubeconfig OTHER\n%s", called, w.n, o.Name,
		revision, o.Name, file, borrowed(spec))
	return err
}

// borrowed says what an import of a space needs that is not in the export: the definitions that the
// space has from others.
func borrowed(spec map[string]any) string {
	apis, _, _ := unstructured.NestedSlice(spec, "apis")
	var out strings.Builder
	for _, api := range apis {
		if one, ok := api.(map[string]any); ok {
			fmt.Fprintf(
				&out,
				"It has the definitions of %v from space %v (spec.apis), which the export leaves out: an import is "+
					"refused until that space is in the other center, "+
					"has them, and shares them:  kubectl annotate crd NAME... %s=true\n",
				one["group"],
				one["fromSpace"],
				v1alpha1.AnnotationShared,
			)
		}
	}
	return out.String()
}

// revision is one that holds every write which was acknowledged before: a list of a kind tells one
// that holds those of that kind.
func (s *spaceAPI) revision(ctx context.Context) (string, error) {
	newest := int64(0)
	for _, k := range s.kinds {
		list, err := s.Resource(k.GroupVersionResource).List(ctx, metav1.ListOptions{Limit: 1})
		if apierrors.IsNotFound(err) {
			continue // its definition was deleted meanwhile
		} else if err != nil {
			return "", fmt.Errorf("list %s: %w", k.Resource, err)
		}
		revision, err := strconv.ParseInt(list.GetResourceVersion(), 10, 64)
		if err != nil {
			return "", fmt.Errorf("list %s: revision %q: %w", k.Resource, list.GetResourceVersion(), err)
		}
		newest = max(newest, revision)
	}
	return strconv.FormatInt(newest, 10), nil
}

// export writes all objects of a kind as they were at the revision.
func (s *spaceAPI) export(ctx context.Context, k exportKind, revision string, w *exportWriter) error {
	o := metav1.ListOptions{
		Limit:                exportPage,
		ResourceVersion:      revision,
		ResourceVersionMatch: metav1.ResourceVersionMatchExact,
	}
	for {
		list, err := s.Resource(k.GroupVersionResource).List(ctx, o)
		switch {
		case apierrors.IsNotFound(err) && strings.Contains(k.Group, "."):
			return nil // its definition was deleted meanwhile
		case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
			return fmt.Errorf(
				"list %s: the moment that the export is of is too long ago for the center's store; try again "+
					"when there is less to do: %w",
				k.Resource,
				err,
			)
		case err != nil:
			return fmt.Errorf("list %s: %w", k.Resource, err)
		}
		for i := range list.Items {
			item := &list.Items[i]
			if !isExported(k.GroupResource(), item) {
				continue
			}
			item.SetAPIVersion(k.GroupVersion().String())
			item.SetKind(k.kind)
			strip(k.GroupResource(), item)
			if err := w.put(exportedObject{Resource: k.Resource, Object: item.Object}); err != nil {
				return err
			}
		}
		if o.Continue = list.GetContinue(); o.Continue == "" {
			return nil
		}
		o.ResourceVersion, o.ResourceVersionMatch = "", ""
	}
}

package borrow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/follow"
	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
)

// Guard is the admission plugin of Space.spec.apis. A lender agrees by an annotation on all its
// definitions of the group. Nothing may be taken away that objects of a borrower need. Guard cannot
// see writes at the same moment, by this replica or another one: Check looks again.
type Guard struct {
	table  *Table
	client *clientv3.Client
}

// Handles implements admission.Interface.
func (Guard) Handles(op admission.Operation) bool { return op != admission.Connect }

// Validate implements admission.ValidationInterface.
func (g Guard) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	space := request.Space(ctx)
	if a.GetSubresource() != "" || request.FromCenter(ctx) || space == request.OwnSpace {
		return nil
	}
	var err error
	switch {
	case a.GetResource().GroupResource() == registrykey.Spaces && space == request.RootSpace:
		err = g.space(ctx, a.GetName(), a.GetOldObject(), a.GetObject())
	case a.GetResource().GroupResource() == registrykey.CRDs:
		err = g.definition(ctx, space, a.GetOldObject(), a.GetObject())
	}
	if err != nil {
		return admission.NewForbidden(a, err)
	}
	return nil
}

// space checks a change of a Space. before is nil for a new Space, after for one that ends.
func (g Guard) space(ctx context.Context, name string, old, next runtime.Object) error {
	if next == nil {
		if by := g.table.Borrowers(name, ""); len(by) > 0 {
			return errLends(by)
		}
		return nil
	}
	before, err := sharedAPIs(old)
	if err != nil {
		return err
	}
	after, err := sharedAPIs(next)
	if err != nil {
		return err
	}
	for i, one := range after {
		if !slices.Contains(before, one) {
			if err := g.borrow(ctx, name, one); err != nil {
				return fmt.Errorf("spec.apis[%d]: %w", i, err)
			}
		}
	}
	for _, one := range before {
		if slices.Contains(after, one) {
			continue
		}
		all, err := g.definitions(ctx, one.FromSpace, one.Group)
		if err != nil {
			return err
		}
		for i := range all {
			if has, err := g.holds(ctx, name, defined(&all[i])); has || err != nil {
				return errors.Join(err, fmt.Errorf("spec.apis: the space holds %s; delete them first", all[i].Name))
			}
		}
	}
	return nil
}

func errLends(to []string) error {
	return fmt.Errorf("its definitions serve space %s; remove them from spec.apis there first", strings.Join(to, ", "))
}

// borrow checks a group that a space is to borrow from now on.
func (g Guard) borrow(ctx context.Context, space string, api v1alpha1.SharedAPI) error {
	if stays, err := g.stays(ctx, api.FromSpace); api.FromSpace == space || !stays {
		return errors.Join(err, fmt.Errorf("fromSpace %q: name another space that exists", api.FromSpace))
	}
	lent, err := g.definitions(ctx, api.FromSpace, api.Group)
	if err != nil {
		return err
	}
	if len(lent) == 0 {
		return fmt.Errorf("space %s defines nothing in group %q", api.FromSpace, api.Group)
	}
	for _, crd := range lent {
		if !isShared(crd.Annotations) {
			return fmt.Errorf(
				"space %s does not share %s; its admins agree with: kubectl annotate crd %[2]s %s=true",
				api.FromSpace,
				crd.Name,
				v1alpha1.AnnotationShared,
			)
		}
	}
	if own, err := g.definitions(ctx, space, api.Group); err != nil || len(own) > 0 {
		return errors.Join(
			err,
			fmt.Errorf("the space has definitions of its own in group %q; delete them first", api.Group),
		)
	}
	return nil
}

// stays reports whether a space exists and is not being deleted.
func (g Guard) stays(ctx context.Context, space string) (bool, error) {
	if space == request.RootSpace {
		return true, nil
	}
	var s metav1.PartialObjectMetadata
	found, err := g.stored(ctx, registrykey.SpacePrefix+space, &s)
	return found && s.DeletionTimestamp == nil, err
}

// stored reads an object from the store: there are no caches yet.
func (g Guard) stored(ctx context.Context, key string, into any) (found bool, err error) {
	got, err := g.client.Get(ctx, key)
	if err != nil || len(got.Kvs) == 0 {
		return false, err
	}
	if err := json.Unmarshal(got.Kvs[0].Value, into); err != nil {
		return false, fmt.Errorf("decode %s: %w", key, err)
	}
	return true, nil
}

// definition checks a change of a CustomResourceDefinition.
func (g Guard) definition(ctx context.Context, space string, old, next runtime.Object) error {
	crd, ok := next.(*apiextensions.CustomResourceDefinition)
	if !ok {
		if crd, ok = old.(*apiextensions.CustomResourceDefinition); ok {
			return g.unused(ctx, space, schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural})
		}
		return nil
	}
	if lender := g.table.Lender(space, crd.Spec.Group); lender != "" && old == nil {
		return fmt.Errorf("spec.group: %s is served with the definitions of space %s", crd.Spec.Group, lender)
	}
	if by := g.table.Borrowers(space, crd.Spec.Group); len(by) > 0 && !isShared(crd.Annotations) {
		return fmt.Errorf(
			"group %s is shared with space %s, so all its definitions are: annotate this one with %s=true",
			crd.Spec.Group,
			strings.Join(by, ", "),
			v1alpha1.AnnotationShared,
		)
	}
	return nil
}

// unused returns an error if borrowers have objects of a definition.
func (g Guard) unused(ctx context.Context, lender string, r schema.GroupResource) error {
	for _, by := range g.table.Borrowers(lender, r.Group) {
		if has, err := g.holds(ctx, by, r); has || err != nil {
			return errors.Join(err, fmt.Errorf("space %s holds objects of it; they have to be deleted there first", by))
		}
	}
	return nil
}

// definitions returns the definitions of a group that are stored in a space.
func (g Guard) definitions(
	ctx context.Context,
	space, group string,
) ([]apiextensionsv1.CustomResourceDefinition, error) {
	_, all, err := follow.List(ctx, g.client, registrykey.CRDPrefix+space+"/")
	if err != nil {
		return nil, err
	}
	var out []apiextensionsv1.CustomResourceDefinition
	for _, kv := range all {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := json.Unmarshal(kv.Value, &crd); err != nil {
			return nil, fmt.Errorf("decode %s: %w", kv.Key, err)
		}
		if crd.Spec.Group == group {
			out = append(out, crd)
		}
	}
	return out, nil
}

// holds reports whether a space has objects of a definition.
func (g Guard) holds(ctx context.Context, space string, r schema.GroupResource) (bool, error) {
	prefix := registrykey.Prefix + "/" + r.Group + "/" + r.Resource + "/" + space + "/"
	got, err := g.client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithLimit(1), clientv3.WithKeysOnly())
	if err != nil {
		return false, fmt.Errorf("look for %s in space %s: %w", r, space, err)
	}
	return len(got.Kvs) > 0, nil
}

func defined(crd *apiextensionsv1.CustomResourceDefinition) schema.GroupResource {
	return schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
}

func isShared(annotations map[string]string) bool {
	return annotations[v1alpha1.AnnotationShared] == "true"
}

// sharedAPIs reads spec.apis of a Space. A nil object has none.
func sharedAPIs(o runtime.Object) ([]v1alpha1.SharedAPI, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return nil, nil
	}
	var s v1alpha1.Space
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &s); err != nil {
		return nil, fmt.Errorf("read the Space: %w", err)
	}
	return s.Spec.APIs, nil
}

package borrow

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/apiserver/follow"
	"skerry.dev/skerry/server/apiserver/metadata"
	"skerry.dev/skerry/server/apiserver/registrykey"
	"skerry.dev/skerry/server/apiserver/request"
)

// A borrower and its lender agree by objects that are written one by one: the Space, the
// definitions, the borrower's objects. So each write of one of them is followed by a look at the
// others as they are stored, and is taken back if it contradicts them. Of two writes at the same
// time, on whichever replicas, at least one sees the other. A deletion takes time, so a definition
// or a Space first says that it is being deleted, and Check looks after that.

// Check compares what is stored. The storage calls it after each write that may concern a loan.
type Check struct{ Guard }

// NewCheck returns a check of what is stored in c. Its guard knows borrowers from b.
func NewCheck(b *Table, c *clientv3.Client) Check {
	return Check{Guard{b, c}}
}

// now returns a guard that knows what Spaces borrow at this moment, as stored.
func (c Check) now(ctx context.Context) (Guard, error) {
	b := NewTable()
	_, all, err := follow.List(ctx, c.client, registrykey.SpacePrefix)
	if err == nil {
		err = b.Reset(0, all)
	}
	return Guard{b, c.client}, err
}

// Unused returns an error while borrowers have objects of a definition. The definition is being
// deleted already, so no more objects come.
func (c Check) Unused(ctx context.Context, lender string, r schema.GroupResource) error {
	g, err := c.now(ctx)
	if err != nil {
		return err
	}
	return g.unused(ctx, lender, r)
}

// served returns an error if the definition of a borrower's new object does not stay.
func (c Check) served(ctx context.Context, space, lender string, r schema.GroupResource) error {
	var crd apiextensionsv1.CustomResourceDefinition
	found, err := c.stored(ctx, registrykey.CRDPrefix+lender+"/"+r.String(), &crd)
	if err != nil {
		return err
	}
	var s v1alpha1.Space
	if _, err := c.stored(ctx, registrykey.SpacePrefix+space, &s); err != nil {
		return err
	}
	borrowed := false
	for _, api := range s.Spec.APIs {
		borrowed = borrowed || api.Group == r.Group && api.FromSpace == lender
	}
	if !found || crd.DeletionTimestamp != nil || !isShared(crd.Annotations) || !borrowed {
		return fmt.Errorf("space %s is not served with the definition of %s in space %s any more", space, r, lender)
	}
	return nil
}

// Written checks a write that has been stored. next is what is stored now, and old what was before,
// nil for nothing. lender is the space whose definition a custom resource has, "" for other
// resources.
func (c Check) Written(ctx context.Context, lender string, r schema.GroupResource, old, next runtime.Object) error {
	space := request.Space(ctx)
	switch {
	case lender != "" && lender != space:
		if old != nil {
			return nil
		}
		return c.served(ctx, space, lender, r)
	case request.FromCenter(ctx) || space == request.OwnSpace:
		return nil
	case r == registrykey.CRDs:
		if old != nil && isShared(metadata.Of(old).GetAnnotations()) == isShared(metadata.Of(next).GetAnnotations()) {
			return nil
		}
		g, err := c.now(ctx)
		if err != nil {
			return err
		}
		return g.definition(ctx, space, old, next)
	case r == registrykey.Spaces && space == request.RootSpace:
		return c.space(ctx, metadata.Of(next).GetName(), old, next)
	}
	return nil
}

// PutBack restores in an object what the borrower and the lender had agreed on before.
func (Check) PutBack(in, old runtime.Object) error {
	if space, ok := in.(*unstructured.Unstructured); ok {
		apis, found, err := unstructured.NestedSlice(old.(*unstructured.Unstructured).Object, "spec", "apis")
		if err != nil || !found {
			unstructured.RemoveNestedField(space.Object, "spec", "apis")
			return err
		}
		return unstructured.SetNestedSlice(space.Object, apis, "spec", "apis")
	}
	o := metadata.Of(in)
	notes := o.GetAnnotations()
	if notes == nil {
		notes = map[string]string{}
	}
	if isShared(metadata.Of(old).GetAnnotations()) {
		notes[v1alpha1.AnnotationShared] = "true"
	}
	o.SetAnnotations(notes)
	return nil
}

// Lender returns the space whose definitions of a group serve the given space, "" if it has its
// own.
func (c Check) Lender(space, group string) string { return c.table.Lender(space, group) }

// Borrowers lists the spaces that borrow definitions of a space at this moment.
func (c Check) Borrowers(ctx context.Context, space string) ([]string, error) {
	g, err := c.now(ctx)
	if err != nil {
		return nil, fmt.Errorf("list who borrows of space %s: %w", space, err)
	}
	return g.table.Borrowers(space, ""), nil
}

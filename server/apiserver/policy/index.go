package policy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/lru"

	"skerry.dev/skerry/server/api/v1alpha1"
)

// The resources of the kinds that a Plugin enforces.
const (
	ValidatingPolicies = "validatingadmissionpolicies"
	ValidatingBindings = "validatingadmissionpolicybindings"
	MutatingPolicies   = "mutatingadmissionpolicies"
	MutatingBindings   = "mutatingadmissionpolicybindings"
	ValidatingWebhooks = "validatingwebhookconfigurations"
	MutatingWebhooks   = "mutatingwebhookconfigurations"
)

// Resources returns the resources for which Replace must be called after a start.
func Resources() []string {
	return []string{
		ValidatingPolicies,
		ValidatingBindings,
		MutatingPolicies,
		MutatingBindings,
		ValidatingWebhooks,
		MutatingWebhooks,
	}
}

const (
	// MaxObjects is how many objects of these kinds together a space may have. Each write of a user
	// is compared with all of them.
	MaxObjects = 200
	// maxBuilt is how many spaces' compiled rules are kept.
	maxBuilt = 256
)

// Object is one object of these kinds.
type Object interface {
	runtime.Object
	GetName() string
}

// index has the objects of all spaces. A set of objects that it has returned never changes.
type index struct {
	mu     sync.RWMutex
	spaces map[string]*objects
	synced map[string]bool
	ready  chan struct{} // closed once all kinds have been given
	built  *lru.Cache    // space -> *built
}

// objects are those of one space, by resource and name.
type objects map[string]map[string]Object

func newIndex() *index {
	return &index{
		spaces: map[string]*objects{},
		synced: map[string]bool{},
		ready:  make(chan struct{}),
		built:  lru.New(maxBuilt),
	}
}

// Replace sets all objects of one kind. all is space -> name -> object.
func (p *Plugin) Replace(resource string, all map[string]map[string]Object) {
	i := p.index
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, of := range all {
		maps.DeleteFunc(of, func(_ string, o Object) bool { return inert(o) })
	}
	for space := range i.spaces {
		i.set(space, resource, all[space])
	}
	for space, of := range all {
		if i.spaces[space] == nil {
			i.set(space, resource, of)
		}
	}
	i.synced[resource] = true
	if len(i.synced) == len(Resources()) {
		select {
		case <-i.ready:
		default:
			close(i.ready)
		}
	}
}

// Put adds or replaces one object of a space. A nil obj deletes it.
func (p *Plugin) Put(space, resource, name string, obj Object) {
	i := p.index
	i.mu.Lock()
	defer i.mu.Unlock()
	of := map[string]Object{}
	if have := i.spaces[space]; have != nil {
		of = maps.Clone((*have)[resource])
	}
	if of == nil {
		of = map[string]Object{}
	}
	if obj == nil || inert(obj) {
		delete(of, name)
	} else {
		of[name] = obj
	}
	i.set(space, resource, of)
}

// inert reports whether an object is only stored in its space, and enforced at sites.
func inert(o Object) bool {
	m, ok := o.(metav1.Object)
	return ok && v1alpha1.Inert(m.GetLabels())
}

func (i *index) set(space, resource string, of map[string]Object) {
	next := objects{}
	if have := i.spaces[space]; have != nil {
		next = maps.Clone(*have)
	}
	if len(of) == 0 {
		delete(next, resource)
	} else {
		next[resource] = of
	}
	if len(next) == 0 {
		delete(i.spaces, space)
		i.built.Remove(space)
		return
	}
	i.spaces[space] = &next
}

// of returns the objects of a space, nil when it has none.
func (i *index) of(ctx context.Context, space string) (*objects, error) {
	select {
	case <-i.ready:
	case <-ctx.Done():
		return nil, errors.New("the center is starting and does not know the admission policies yet")
	}
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.spaces[space], nil
}

// count returns how many objects a space has.
func (i *index) count(space string) (n int) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	if have := i.spaces[space]; have != nil {
		for _, of := range *have {
			n += len(of)
		}
	}
	return n
}

// all returns the objects of one kind in the order of their names. An object of another type is an
// error, because no rule of a space may be skipped silently.
func all[T Object](o *objects, resource string) ([]T, error) {
	of := (*o)[resource]
	out := make([]T, 0, len(of))
	for _, name := range slices.Sorted(maps.Keys(of)) {
		obj, ok := of[name].(T)
		if !ok {
			return nil, fmt.Errorf("%s %s is a %T", resource, name, of[name])
		}
		out = append(out, obj)
	}
	return out, nil
}

func errTooMany() error {
	return fmt.Errorf(
		"a space may have %d admission policies, bindings and webhook configurations; delete some first",
		MaxObjects,
	)
}

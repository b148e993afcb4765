package apply

import (
	"context"
	"fmt"
	"sync"
	"time"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/site"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// A cluster's own controllers furnish a new namespace with the ServiceAccount that Pods have by default, and with the
// authorities of the API. They try once. An API server that still takes the namespace for the one of the same name
// which has just gone refuses that, and they try again only when the namespace changes: no Pod starts there before.
// People are not that quick. An agent is, where something leaves a site and comes back.

const (
	// furnishWithin is for how long after its end a namespace that is made again is looked at.
	furnishWithin = time.Minute
	// furnishTime is how long a new namespace is left to the cluster's controllers, and furnishLooks how often it is
	// looked at.
	furnishTime  = time.Second
	furnishLooks = 5
	// furnishNote is the annotation that is set and taken off again, for the controllers to look.
	furnishNote = "skerry.dev/look-again"
)

// furnishing is what controllers make in each namespace.
var furnishing = []struct {
	resource target.Resource
	name     string
}{
	{target.Resource{Version: "v1", Plural: "serviceaccounts"}, site.DefaultAccount},
	{target.Resource{Version: "v1", Plural: "configmaps"}, "kube-root-ca.crt"},
}

// remade are the namespaces that were made anew.
type remade struct {
	mu    sync.Mutex
	ended map[store.Key]time.Time
	looks []remadeLook // by their time
	wake  chan struct{}
}

// remadeLook is a namespace that is to be looked at.
type remadeLook struct {
	key  store.Key
	uid  string
	due  time.Time
	left int
}

func newRemade() *remade {
	return &remade{ended: map[store.Key]time.Time{}, wake: make(chan struct{}, 1)}
}

// end notes that a namespace is gone.
func (r *remade) end(k store.Key) {
	if k.Class() != store.ClassNamespace {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for old, at := range r.ended {
		if now.Sub(at) > furnishWithin {
			delete(r.ended, old)
		}
	}
	r.ended[k] = now
}

// made has a namespace looked at that was made soon after it was gone.
func (r *remade) made(k store.Key, uid string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, ended := r.ended[k]; !ended || time.Since(at) > furnishWithin {
		return
	}
	delete(r.ended, k)
	r.addLocked(remadeLook{key: k, uid: uid, left: furnishLooks})
}

func (r *remade) addLocked(l remadeLook) {
	l.due = time.Now().Add(furnishTime)
	r.looks = append(r.looks, l)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// next waits for the next look. It is false when ctx has ended.
func (r *remade) next(ctx context.Context) (remadeLook, bool) {
	for ctx.Err() == nil {
		l, due, wait := r.first()
		if due {
			return l, true
		}
		awaitSignal(ctx, r.wake, wait)
	}
	return remadeLook{}, false
}

// first takes the first look if it is due, else it tells how long until it is (0: there is none).
func (r *remade) first() (l remadeLook, due bool, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.looks) == 0 {
		return l, false, 0
	}
	if l, wait = r.looks[0], time.Until(r.looks[0].due); wait > 0 {
		return l, false, wait
	}
	r.looks = r.looks[1:]
	return l, true, 0
}

// furnish looks at the namespaces that were made anew, until ctx ends.
func furnish(ctx context.Context, a *Applier) {
	for {
		l, ok := a.remade.next(ctx)
		if !ok {
			return
		}
		missing, err := lookAgain(ctx, a, l)
		switch l.left--; {
		case err == nil && missing == "":
		case l.left > 0:
			a.remade.mu.Lock()
			a.remade.addLocked(l)
			a.remade.mu.Unlock()
		default:
			a.Log.Info("the cluster does not make what a namespace needs", "key", l.key, "missing", missing, "err", err)
		}
	}
}

// lookAgain has the controllers of a cluster look at a namespace in which something is missing, and returns what.
func lookAgain(ctx context.Context, a *Applier, l remadeLook) (missing string, err error) {
	record, known := a.Inventory.Get(l.key)
	if !known || record.UID != l.uid {
		return "", nil
	}
	c, err := a.Clients.For(l.key.Space)
	if err != nil {
		return "", err
	}
	at := a.Clients.KeyThere(target.Mapping(record.Prefix), inventory.NamespaceKey(l.key.Space, l.key.Name))
	for _, f := range furnishing {
		found, err := a.find(ctx, c, f.resource, store.Key{Namespace: at.Name, Name: f.name}, false)
		if err != nil {
			return "", fmt.Errorf("look for %s in a namespace: %w", f.name, err)
		}
		if found == nil {
			missing = f.name
		}
	}
	if missing == "" {
		return "", nil
	}
	live, err := a.find(ctx, c, site.Namespaces, store.Key{Name: at.Name}, false)
	if err != nil || live == nil || live.Metadata.UID != l.uid || live.Metadata.DeletionTimestamp != "" {
		return "", err
	}
	w := a.Gate.Accounts.Writer(c, l.key)
	if err = w.Annotate(ctx, site.Namespaces, live, furnishNote, time.Now().UTC().Format(time.RFC3339)); err == nil {
		err = w.Annotate(ctx, site.Namespaces, live, furnishNote, "")
	}
	if err != nil {
		return missing, fmt.Errorf("have a namespace looked at: %w", err)
	}
	return missing, nil
}

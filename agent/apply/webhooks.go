package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// mirrors are the configurations of webhooks that spaces have here. What the site has of one
// depends on the space's Namespaces and Services, too.
type mirrors struct {
	mu   sync.Mutex
	keys map[string]map[store.Key]*mirror // by space
}

type mirror struct {
	until time.Time // what makes Pods waits for it until then
	stale bool      // what it depends on has changed since a worker looked at that
}

// mirrorTime bounds how long what makes Pods waits for the webhooks of its space.
const mirrorTime = 10 * time.Second

// mirrorWait is how long it waits each time.
const mirrorWait = 100 * time.Millisecond

func (m *mirrors) add(k store.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.keys == nil {
		m.keys = map[string]map[store.Key]*mirror{}
	}
	of := m.keys[k.Space]
	if of == nil {
		of = map[store.Key]*mirror{}
		m.keys[k.Space] = of
	}
	if of[k] == nil {
		of[k] = &mirror{until: time.Now().Add(mirrorTime)}
	}
}

// look notes that a worker is about to look at what a configuration depends on.
func (m *mirrors) look(k store.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if is := m.keys[k.Space][k]; is != nil {
		is.stale = false
	}
}

// stale reports whether what a configuration depends on has changed since then.
func (m *mirrors) stale(k store.Key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	is := m.keys[k.Space][k]
	return is != nil && is.stale
}

// settled notes that a configuration is at the site as it is to be, or cannot be.
func (m *mirrors) settled(k store.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if is := m.keys[k.Space][k]; is != nil && !is.stale {
		is.until = time.Time{}
	}
}

func (m *mirrors) drop(k store.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if delete(m.keys[k.Space], k); len(m.keys[k.Space]) == 0 {
		delete(m.keys, k.Space)
	}
}

// changed notes that what the configurations of a space depend on has changed, and returns their
// keys. What makes Pods waits for them from now on.
func (m *mirrors) changed(space string) (keys []store.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, is := range m.keys[space] {
		keys = append(keys, k)
		is.until, is.stale = time.Now().Add(mirrorTime), true
	}
	return keys
}

func (m *mirrors) pending(space string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, is := range m.keys[space] {
		if time.Now().Before(is.until) {
			return true
		}
	}
	return false
}

// awaitWebhooks has what makes Pods wait until the webhooks of its space are as they are to be.
func (a *Applier) awaitWebhooks(k store.Key) error {
	makes := k.Group == "apps" || k.Group == "batch" || k.Group == "" && k.Resource == "replicationcontrollers"
	if makes && a.mirrors.pending(k.Space) {
		return &laterError{mirrorWait}
	}
	return nil
}

// decidesWebhooks reports whether what the site has of a space's webhooks depends on an object.
func decidesWebhooks(k store.Key) bool {
	return k.Class() == store.ClassNamespace || isService(k)
}

// remirror has the webhooks of a space made again, after something changed on which they depend. A
// worker that is at one of them has perhaps not seen the change: what it records is forgotten by the
// second case.
func (a *Applier) remirror(k store.Key) {
	switch {
	case !a.Gate.Sealed():
	case policy.IsWebhooks(k.Group, k.Resource):
		if a.mirrors.stale(k) {
			a.Rewound([]store.Key{k})
		}
	case decidesWebhooks(k):
		keys := a.mirrors.changed(k.Space)
		a.Rewound(keys)
		for _, of := range keys {
			a.queue.add(of, false) // also those that have no record yet
		}
	}
}

// mirrorWebhooks makes the body of a configuration of webhooks the one that the site has. Where the
// site has not opened them, what it had before is removed.
func (a *Applier) mirrorWebhooks(ctx context.Context, t *task, p *policy.Policy) error {
	a.mirrors.look(t.Key)
	err := p.Kind(t.Key.Group, t.Key.Resource, false)
	if err == nil {
		err = p.Webhooks(t.Key.Space)
	}
	if err == nil {
		facts := webhookFacts{a, t}
		t.Body, t.left, err = policy.Mirror(t.at.Name, t.Body, facts)
	}
	if err == nil || t.record.UID == "" {
		return err
	}
	gone, removal := t.writer.Delete(ctx, t.resource, "", t.at.Name, target.Deletion{UID: t.record.UID})
	if removal != nil && !apierrors.IsNotFound(removal) && !apierrors.IsConflict(removal) {
		return fmt.Errorf("remove webhooks that are not allowed any more: %w", removal)
	}
	a.Log.Info("webhooks are removed", "key", t.Key, "gone", gone, "why", err)
	a.Inventory.Delete(t.Key)
	a.drifts.close(t.Key)
	return err
}

// tellWebhooks reports which webhooks of a configuration the site does not call.
func (a *Applier) tellWebhooks(t *task) {
	if len(t.left) > 0 {
		a.Reports.Refused(t.Key, t.head.OriginUID(), store.ReportError{Reason: policy.ReasonWebhooks,
			Message: "not asked about what is born at the site: " + strings.Join(t.left, "; ")})
	}
}

// webhookFacts is what the policy asks about a space here, see policy.Mirror.
type webhookFacts struct {
	*Applier
	task *task
}

// Namespaces implements policy.WebhookFacts. One that was there before may have Pods of the site.
func (f webhookFacts) Namespaces() (there map[string]string, labels map[string]map[string]string) {
	there, labels = map[string]string{}, map[string]map[string]string{}
	owns := spaceFacts{f.Inventory, f.task.Key.Space}
	for _, name := range f.Inventory.Namespaces(f.task.Key.Space) {
		e, known, err := f.Desired.Get(inventory.NamespaceKey(f.task.Key.Space, name))
		var o target.Object
		if !owns.Owns(name) || err != nil || !known || e.Tombstone || json.Unmarshal(e.Body, &o) != nil {
			continue
		}
		there[name], labels[name] = f.Inventory.There(f.task.Key.Space, name), o.Metadata.Labels
	}
	return there, labels
}

// Service implements policy.WebhookFacts.
func (f webhookFacts) Service(namespace, name string) ([]byte, bool) {
	k := store.Key{Space: f.task.Key.Space, Resource: "services", Namespace: namespace, Name: name}
	if r, known := f.Inventory.Get(k); !known || r.UID == "" {
		return nil, false
	}
	e, known, err := f.Desired.Get(k)
	return e.Body, err == nil && known && !e.Tombstone
}

// Writer implements policy.WebhookFacts.
func (f webhookFacts) Writer() string {
	if !f.Gate.Impersonate || f.Gate.Accounts.None() {
		return ""
	}
	return f.task.client.AccountName(f.task.Key.Space)
}

// Site implements policy.WebhookFacts.
func (f webhookFacts) Site() string { return target.LabelSite }

// settleWebhooks notes what became of a configuration of webhooks.
func (a *Applier) settleWebhooks(k store.Key, err error) {
	var changed *changedError
	if a.Gate.Sealed() && policy.IsWebhooks(k.Group, k.Resource) && !errors.As(err, &changed) {
		a.mirrors.settled(k)
	}
}

package site

import (
	"encoding/json"
	"errors"
	"sync"
	"time"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// Mirrors are the configurations of webhooks that spaces have here. What the site has of one
// depends on the space's Namespaces and Services, too.
type Mirrors struct {
	mu   sync.Mutex
	keys map[string]map[store.Key]*mirror // by space
}

type mirror struct {
	until time.Time // what makes Pods waits for it until then
	stale bool      // what it depends on has changed since a worker looked at that
}

// mirrorTime bounds how long what makes Pods waits for the webhooks of its space.
const mirrorTime = 10 * time.Second

// Add notes a configuration that a space is to have here.
func (m *Mirrors) Add(k store.Key) {
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
func (m *Mirrors) look(k store.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if is := m.keys[k.Space][k]; is != nil {
		is.stale = false
	}
}

// Stale reports whether what a configuration depends on has changed since then.
func (m *Mirrors) Stale(k store.Key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	is := m.keys[k.Space][k]
	return is != nil && is.stale
}

// Settled notes that a configuration is at the site as it is to be, or cannot be.
func (m *Mirrors) Settled(k store.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if is := m.keys[k.Space][k]; is != nil && !is.stale {
		is.until = time.Time{}
	}
}

// Drop forgets a configuration that is gone.
func (m *Mirrors) Drop(k store.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if delete(m.keys[k.Space], k); len(m.keys[k.Space]) == 0 {
		delete(m.keys, k.Space)
	}
}

// Changed notes that what the configurations of a space depend on has changed, and returns their
// keys. What makes Pods waits for them from now on.
func (m *Mirrors) Changed(space string) (keys []store.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, is := range m.keys[space] {
		keys = append(keys, k)
		is.until, is.stale = time.Now().Add(mirrorTime), true
	}
	return keys
}

func (m *Mirrors) pending(space string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, is := range m.keys[space] {
		if time.Now().Before(is.until) {
			return true
		}
	}
	return false
}

// ErrWebhooks is returned while the webhooks of a space are not at the site as they are to be: what
// makes Pods waits for them.
var ErrWebhooks = errors.New("the webhooks of its space are being made at the site")

// await has what makes Pods wait until the webhooks of its space are as they are to be.
func (m *Mirrors) await(k store.Key) error {
	makes := k.Group == "apps" || k.Group == "batch" || k.Group == "" && k.Resource == "replicationcontrollers"
	if makes && m.pending(k.Space) {
		return ErrWebhooks
	}
	return nil
}

// mirror makes the body of a configuration of webhooks the one that the site has.
func (g *Gate) mirror(o *Object, p *policy.Policy) error {
	g.Mirrors.look(o.Key)
	err := p.Kind(o.Key.Group, o.Key.Resource, false)
	if err == nil {
		err = p.Webhooks(o.Key.Space)
	}
	if err == nil {
		o.Body, o.Left, err = policy.Mirror(o.At.Name, o.Body, webhookFacts{g, o})
	}
	return err
}

// webhookFacts is what the policy asks about a space here, see policy.Mirror.
type webhookFacts struct {
	*Gate
	of *Object
}

// Namespaces implements policy.WebhookFacts. One that was there before may have Pods of the site.
func (f webhookFacts) Namespaces() (there map[string]string, labels map[string]map[string]string) {
	there, labels = map[string]string{}, map[string]map[string]string{}
	owns := spaceFacts{f.Inventory, f.of.Key.Space}
	for _, name := range f.Inventory.Namespaces(f.of.Key.Space) {
		e, known, err := f.Desired.Get(inventory.NamespaceKey(f.of.Key.Space, name))
		var o target.Object
		if !owns.Owns(name) || err != nil || !known || e.Tombstone || json.Unmarshal(e.Body, &o) != nil {
			continue
		}
		there[name], labels[name] = f.Inventory.There(f.of.Key.Space, name), o.Metadata.Labels
	}
	return there, labels
}

// Service implements policy.WebhookFacts.
func (f webhookFacts) Service(namespace, name string) ([]byte, bool) {
	k := store.Key{Space: f.of.Key.Space, Resource: "services", Namespace: namespace, Name: name}
	if r, known := f.Inventory.Get(k); !known || r.UID == "" {
		return nil, false
	}
	e, known, err := f.Desired.Get(k)
	return e.Body, err == nil && known && !e.Tombstone
}

// Writer implements policy.WebhookFacts.
func (f webhookFacts) Writer() string {
	if !f.Impersonate || f.Accounts.none.Load() {
		return ""
	}
	return f.of.Client.AccountName(f.of.Key.Space)
}

// Site implements policy.WebhookFacts.
func (f webhookFacts) Site() string { return target.LabelSite }

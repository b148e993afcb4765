package ingress

import (
	"context"
	"crypto/tls"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"skerry.dev/skerry/server/api/v1alpha1"
	"skerry.dev/skerry/server/fields"
	"skerry.dev/skerry/server/placement"
	"skerry.dev/skerry/server/queue"
	"skerry.dev/skerry/server/spaceapi"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// API is how a Controller reads what Ingresses name, and writes their status.
type API interface {
	spaceapi.LiveGetter
	spaceapi.Patcher
}

// Config is what a Controller works with. All fields are needed.
type Config struct {
	API API
	// Address is the name or the address that callers know, for the status of Ingresses.
	Address string
	// Connect connects to a Service: the answer's body is an io.ReadWriteCloser, which ends with ctx.
	Connect func(ctx context.Context, r *exchange.Request) (*http.Response, error)
	// Reaches reports whether the Service of a key and UID reaches its space.
	Reaches func(k store.Key, uid string) bool
	// Moves reports whether what answers for a Service is on its way to another target.
	Moves func(k store.Key) bool
	Event func(placement.Event)
	// Balancers are the networks of load balancers that say who calls, by the PROXY protocol. They have to: a connection
	// from there that does not is closed.
	Balancers []netip.Prefix
	// Metrics count what is served.
	Metrics *Metrics
	Log     *slog.Logger
}

// Controller serves the Ingresses of all spaces. It is a change handler of the kube API; its methods may be called
// concurrently.
type Controller struct {
	cfg   Config
	queue queue.Queue[store.Key] // Services and Secrets to be read, Ingresses whose status is to be written
	dirty chan struct{}          // of one: the Table is to be made anew
	table atomic.Pointer[Table]
	proxy *proxy

	mu        sync.Mutex
	known     bool // of everything that exists
	grants    map[string]grants
	ingresses map[store.Key]*Ingress
	used      map[store.Key]*Ingress // those of the Table
	told      map[store.Key]string   // what was said last of an Ingress
	addresses map[store.Key]string   // what its status is to say
	// services and secrets are what Ingresses name. Nil was not read yet; a Service that is not there has no UID.
	services map[store.Key]*Service
	secrets  map[store.Key]*secret
}

// secret is the certificate of a Secret, or what is wrong with it.
type secret struct {
	certificate *tls.Certificate
	err         error
}

const workers = 4

// settle is for how long changes are waited for before a Table is made of them all.
const settle = 20 * time.Millisecond

// New returns a Controller. It serves nothing before Serve.
func New(c Config) *Controller {
	is := &Controller{cfg: c, queue: queue.NewFair(20*time.Millisecond, 30*time.Second, store.SpaceOf),
		dirty: make(chan struct{}, 1), grants: map[string]grants{}, ingresses: map[store.Key]*Ingress{},
		used: map[store.Key]*Ingress{}, told: map[store.Key]string{}, addresses: map[store.Key]string{},
		services: map[store.Key]*Service{}, secrets: map[store.Key]*secret{}}
	is.table.Store(&Table{})
	is.proxy = newProxy(c, &is.table)
	return is
}

func isSpace(k store.Key) bool {
	return k.Group == v1alpha1.GroupVersion.Group && k.Space == v1alpha1.RootSpace && k.Resource == "spaces"
}

func isIngress(k store.Key) bool {
	return k.Group == "networking.k8s.io" && k.Resource == "ingresses" && k.Space != v1alpha1.RootSpace
}

func isSecret(k store.Key) bool    { return k.Group == "" && k.Resource == "secrets" }
func isNamespace(k store.Key) bool { return k.Group == "" && k.Resource == "namespaces" }

// Reset takes everything that exists.
func (c *Controller) Reset(_ int64, all store.Listing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.grants)
	clear(c.ingresses)
	clear(c.addresses)
	for k := range c.services {
		c.queue.Add(k)
	}
	for k := range c.secrets {
		c.queue.Add(k)
	}
	for w := range all.Objects(func(k store.Key) bool { return isSpace(k) || isIngress(k) }) {
		c.takeLocked(w)
	}
	maps.DeleteFunc(c.told, func(k store.Key, _ string) bool { return c.ingresses[k] == nil })
	c.known = true
	c.changed()
}

// Apply takes one write.
func (c *Controller) Apply(w store.Write) {
	if !isSpace(w.Key) && !isIngress(w.Key) && !w.Key.IsService() && !isSecret(w.Key) && !isNamespace(w.Key) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.takeLocked(w)
}

// Progress means nothing to it.
func (c *Controller) Progress(int64) {}

func (c *Controller) changed() {
	select {
	case c.dirty <- struct{}{}:
	default:
	}
}

func (c *Controller) takeLocked(w store.Write) {
	switch {
	case isSpace(w.Key):
		c.spaceLocked(w)
	case isIngress(w.Key):
		c.ingressLocked(w)
	case isNamespace(w.Key): // it may say where its Services answer
		for k := range c.ingresses {
			if k.Space == w.Key.Space && k.Namespace == w.Key.Name {
				c.changed()
				return
			}
		}
	default:
		_, service := c.services[w.Key]
		if _, is := c.secrets[w.Key]; is || service {
			c.queue.Add(w.Key)
		}
	}
}

// spaceLocked takes over the hosts of a space, and any other word of it.
func (c *Controller) spaceLocked(w store.Write) {
	var hosts []string
	for _, h := range fields.List(w.Object, "spec", "hosts") {
		if host, ok := h.(string); ok {
			hosts = append(hosts, strings.Clone(host))
		}
	}
	if delete(c.grants, w.Key.Name); len(hosts) > 0 {
		c.grants[w.Key.Name] = grantsOf(hosts)
	}
	c.changed()
}

func (c *Controller) ingressLocked(w store.Write) {
	var in *Ingress
	if w.Object != nil && fields.String(w.Object, "metadata", "deletionTimestamp") == "" {
		in, _ = Read(w.Key, w.Object)
	}
	was := c.ingresses[w.Key]
	if reflect.DeepEqual(in, was) {
		return
	}
	if in == nil {
		delete(c.ingresses, w.Key)
		delete(c.told, w.Key)
		delete(c.addresses, w.Key)
		if w.Object != nil && shown(w.Object) != "" {
			c.queue.Add(w.Key) // it is another class's now, and may show this address
		}
	} else {
		c.ingresses[w.Key] = in
		for _, k := range in.names() {
			if _, is := c.services[k]; k.IsService() && !is {
				c.services[k] = nil
				c.queue.Add(k)
			}
			if _, is := c.secrets[k]; isSecret(k) && !is {
				c.secrets[k] = nil
				c.queue.Add(k)
			}
		}
	}
	c.changed()
}

// Serve serves those who come in by some listeners, which it closes, until ctx ends.
func (c *Controller) Serve(ctx context.Context, at []net.Listener) error {
	var parts sync.WaitGroup
	defer parts.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before it waits
	parts.Go(func() { c.makeTables(ctx) })
	parts.Go(func() {
		queue.Serve(ctx, c.queue, workers, c.reconcile, func(k store.Key, err error) {
			c.cfg.Log.Debug("what an Ingress needs is tried again", "key", k.String(), "err", err)
		})
	})
	return servePorts(ctx, c.cfg, at, &c.table, c.proxy)
}

// makeTables makes a Table after each change until ctx ends.
func (c *Controller) makeTables(ctx context.Context) {
	for {
		select {
		case <-c.dirty:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(settle):
		case <-ctx.Done():
			return
		}
		c.makeTable()
	}
}

// makeTable makes a Table of what is known, and tells what is another now.
func (c *Controller) makeTable() {
	c.mu.Lock()
	w := c.worldLocked()
	clear(c.used)
	for _, in := range w.Ingresses {
		c.used[in.Key] = in
	}
	c.forgetLocked()
	c.mu.Unlock()
	table, words, served := Build(w)
	c.table.Store(table)
	c.proxy.keep(table)
	var events []placement.Event
	c.mu.Lock()
	for _, in := range w.Ingresses {
		if c.ingresses[in.Key] != in {
			continue
		}
		if text := strings.Join(words[in.Key], "; "); text != c.told[in.Key] {
			if c.told[in.Key] = text; text != "" {
				events = append(events, placement.Event{Key: in.Key, APIVersion: "networking.k8s.io/v1", Kind: "Ingress",
					UID: in.UID, Warning: true, Reason: NotServed, Message: text})
			}
		}
		address := ""
		if served[in.Key] {
			address = c.cfg.Address
		}
		if c.addresses[in.Key] = address; in.Shown != address {
			c.queue.Add(in.Key)
		}
	}
	c.mu.Unlock()
	for _, e := range events {
		c.cfg.Event(e)
	}
	c.cfg.Metrics.keep(w.Ingresses)
	c.cfg.Log.Debug("hosts are served", "hosts", len(table.hosts), "ingresses", len(w.Ingresses))
}

// worldLocked is what a Table is made of. An Ingress is as it was until all that it names was read.
func (c *Controller) worldLocked() World {
	services, secrets := maps.Clone(c.services), maps.Clone(c.secrets)
	w := World{Grants: maps.Clone(c.grants), Reaches: c.cfg.Reaches}
	read := func(in *Ingress) bool {
		return in != nil && !slices.ContainsFunc(in.names(), func(k store.Key) bool {
			return k.IsService() && services[k] == nil || isSecret(k) && secrets[k] == nil
		})
	}
	for k, in := range c.ingresses {
		for _, is := range []*Ingress{in, c.used[k]} {
			if read(is) {
				w.Ingresses = append(w.Ingresses, is)
				break
			}
		}
	}
	w.Service = func(k store.Key) *Service {
		if s := services[k]; s != nil && s.UID != "" {
			return s
		}
		return nil
	}
	w.Certificate = func(k store.Key) (*tls.Certificate, error) { return secrets[k].certificate, secrets[k].err }
	return w
}

// forgetLocked forgets what no Ingress names any more.
func (c *Controller) forgetLocked() {
	named := map[store.Key]bool{}
	for _, all := range []map[store.Key]*Ingress{c.ingresses, c.used} {
		for _, in := range all {
			for _, k := range in.names() {
				named[k] = true
			}
		}
	}
	maps.DeleteFunc(c.services, func(k store.Key, _ *Service) bool { return !named[k] })
	maps.DeleteFunc(c.secrets, func(k store.Key, _ *secret) bool { return !named[k] })
}

// Words says what of an Ingress that is about to be written is not served, and why, empty where all is or where
// nothing is known. What it names may come later.
func (c *Controller) Words(k store.Key, obj map[string]any) string {
	in, is := Read(k, obj)
	if !is {
		return ""
	}
	c.mu.Lock()
	if !c.known {
		c.mu.Unlock()
		return strings.Join(in.Words, "; ")
	}
	w := c.worldLocked()
	c.mu.Unlock()
	if was := slices.IndexFunc(w.Ingresses, func(i *Ingress) bool { return i.Key == k }); was >= 0 {
		w.Ingresses = slices.Delete(w.Ingresses, was, was+1)
	}
	if in.Created == "" {
		in.Created = time.Now().UTC().Format(time.RFC3339)
	}
	anything := &Service{UID: "-"}
	for _, r := range in.Rules {
		anything.Ports = append(anything.Ports, Port{Name: r.Backend.Name, Number: r.Backend.Port})
	}
	w.Ingresses = append(w.Ingresses, in)
	w.Service = func(store.Key) *Service { return anything }
	w.Reaches = func(store.Key, string) bool { return true }
	w.Certificate = func(store.Key) (*tls.Certificate, error) { return nil, nil }
	_, words, _ := Build(w)
	return strings.Join(words[k], "; ")
}

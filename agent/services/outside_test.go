package services

import (
	"io"
	"net/netip"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// publicSite is a site whose Service lets others in than Pods of its space: by its type, or since callers are sent
// to it.
func publicSite(t *testing.T, kind string, entered bool) *site {
	api := newAPI(t)
	api.Put("v1", "Namespace", "", "ingress", m{"metadata": m{"labels": m{"team": "net"}}})
	api.Put("v1", "Node", "", "n", m{"spec": m{"podCIDR": "127.9.0.0/24"},
		"status": m{"addresses": []any{m{"type": "InternalIP", "address": "127.0.0.3"},
			m{"type": "Hostname", "address": "n"}}}})
	is := service(target.ReachSpace, port("http", 80, "TCP"))
	is["spec"].(m)["type"] = kind
	if entered {
		is["metadata"].(m)["annotations"].(m)[target.AnnotationEntered] = "true"
	}
	return run(t, &site{api: api, up: newParent(t), uid: api.Put("v1", "Service", "app", "web", is)}, t.TempDir())
}

// residentAt writes a Pod of a namespace with an address.
func (s *site) residentAt(namespace, at string) {
	s.api.Put("v1", "Pod", namespace, "p-"+at, m{"metadata": m{"labels": m{"app": "nginx"}},
		"spec": m{"nodeName": "n"}, "status": m{"podIP": at, "phase": "Running"}})
}

// lastCaller is who called last, as the parent was told.
func (p *parent) lastCaller(t *testing.T) (c exchange.Caller) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.calls) == 0 {
		t.Fatal("nobody has called")
	}
	c, err := exchange.ReadCaller(p.calls[len(p.calls)-1].Caller)
	if err != nil {
		t.Error(err)
	}
	return c
}

// Who comes by an Ingress is its controller, a Pod of the site or one in the network of its node. Who comes by a node
// port is anybody. Both are told apart from Pods of the space, and neither is a Pod of another one.
func TestCallersFromOutside(t *testing.T) {
	controller := exchange.Caller{Namespace: "ingress", OfSite: true, Labels: map[string]string{"app": "nginx"},
		NamespaceLabels: map[string]string{"team": "net"}}
	for name, c := range map[string]struct {
		kind    string
		entered bool
		from    string
		serves  bool
		told    exchange.Caller
	}{
		"the controller of an Ingress":     {"", true, "127.0.0.2", true, controller},
		"a controller in a node's network": {"", true, "127.0.0.3", true, exchange.Caller{}},
		"a controller by a node's bridge":  {"", true, "127.9.0.1", true, exchange.Caller{}},
		"anybody, by an Ingress":           {"", true, "127.0.0.9", false, exchange.Caller{}},
		"another space, by an Ingress":     {"", true, "127.0.0.4", false, exchange.Caller{}},
		"a Pod of the site, by neither":    {"", false, "127.0.0.2", false, exchange.Caller{}},
		"a node, by neither":               {"ClusterIP", false, "127.0.0.3", false, exchange.Caller{}},
		"anybody, by a node port":          {"NodePort", false, "127.0.0.9", true, exchange.Caller{}},
		"anybody, by a load balancer":      {"LoadBalancer", false, "127.0.0.9", true, exchange.Caller{}},
		"a Pod of the site, by it":         {"LoadBalancer", false, "127.0.0.2", true, controller},
		"another space, by a node port":    {"NodePort", false, "127.0.0.4", false, exchange.Caller{}},
		"a Pod that nobody knows":          {"NodePort", false, "127.9.0.7", false, exchange.Caller{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := publicSite(t, c.kind, c.entered)
			s.api.Put("v1", "Namespace", "", "team", namespace("team", "u-team"))
			s.residentAt("ingress", "127.0.0.2")
			s.residentAt("team", "127.0.0.4")
			eventually(t, "the Pods are known", func() bool {
				return sightOf(s.Services, callee{}, "127.0.0.2").pods && sightOf(s.Services, callee{}, "127.0.0.4").pods
			})
			conn := s.dialFrom(t, c.from, "http")
			if !c.serves {
				if !isReset(conn) || s.refusedFor(refusedCaller) == 0 {
					t.Errorf("it is served, or not counted: %d", s.refusedFor(refusedCaller))
				}
				return
			}
			if _, err := io.ReadFull(conn, make([]byte, 4)); err != nil {
				t.Fatal(err)
			}
			c.told.Address = netip.MustParseAddr(c.from)
			if told := s.up.lastCaller(t); told.Encode() != c.told.Encode() {
				t.Errorf("told: %s, want %s", told.Encode(), c.told.Encode())
			}
		})
	}
}

// The controller of an Ingress is let in, too, while it is not told whose Pods are: the cluster is asked.
func TestAControllerThatIsNotKnown(t *testing.T) {
	s := publicSite(t, "", true)
	s.residentAt("ingress", "127.0.0.2")
	eventually(t, "the name leads to the agent", s.ready)
	of := callee{key: store.Key{Space: "shop"}, spaceUID: "u-shop", at: name{"app", "web"}}
	eventually(t, "the controller is known", func() bool {
		_, is := letsIn(s.Services, of, netip.MustParseAddr("127.0.0.2"))
		return is
	})
	s.forgetNamespaces()
	if _, err := io.ReadFull(s.dialFrom(t, "127.0.0.2", "http"), make([]byte, 4)); err != nil {
		t.Error(err)
	}
}

// Where callers from outside get Pods of the node that they come to, the agent is one of its own node.
func TestCallersOfTheOwnNode(t *testing.T) {
	for name, set := range map[string]func(*site){
		"on a node": func(s *site) {
			s.api.Put("v1", "Node", "", "here", m{"status": m{"addresses": []any{m{"type": "InternalIP", "address": loopback}}}})
		},
		"as a Pod": func(s *site) {
			s.api.Put("v1", "Pod", "ingress", "agent", m{"spec": m{"nodeName": "here"},
				"status": m{"podIP": loopback, "phase": "Running"}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			api := newAPI(t)
			api.Remove("", "pods", "front", "caller")
			is := service(target.ReachSpace, port("http", 80, "TCP"))
			is["spec"].(m)["type"], is["spec"].(m)["externalTrafficPolicy"] = "LoadBalancer", "Local"
			s := &site{api: api, up: newParent(t)}
			set(s)
			s.uid = api.Put("v1", "Service", "app", "web", is)
			run(t, s, t.TempDir())
			eventually(t, "the slice names the node", func() bool {
				o := s.slice()
				if o == nil {
					return false
				}
				endpoints, _ := o["endpoints"].([]any)
				return len(endpoints) == 1 && endpoints[0].(m)["nodeName"] == "here"
			})
		})
	}
}

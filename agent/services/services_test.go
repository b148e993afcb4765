package services

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/upward"
)

// A caller reaches the Service by its own port, whole in both directions: what it has ended may still be answered.
func TestANameLeadsToAnotherSite(t *testing.T) {
	s := newSite(t)
	text := strings.Repeat("hello ", 50_000)
	for name, port := range map[string]uint16{"http": 80, "also": 81} {
		conn := s.dial(t, name)
		go func() {
			_, _ = io.WriteString(conn, text)
			_ = conn.CloseWrite()
		}()
		got := make([]byte, len("port 80: ")+len(text))
		if _, err := io.ReadFull(conn, got); err != nil || !strings.HasSuffix(string(got), text) {
			t.Errorf("%.20q, %v", got, err)
		}
		s.up.mu.Lock()
		want := upward.ServiceCall{Namespace: "app", Service: "web", UID: "o-web", Port: port, Caller: s.up.calls[0].Caller}
		if !slices.Contains(s.up.calls, want) {
			t.Errorf("called %v", s.up.calls)
		}
		s.up.mu.Unlock()
	}
	if _, udp := s.portsOf()["dns"]; udp {
		t.Error("a UDP port leads to a TCP one")
	}
	owners, _ := s.slice()["metadata"].(m)["ownerReferences"].([]any)
	if len(owners) != 1 || owners[0].(m)["uid"] != s.uid || owners[0].(m)["controller"] != nil {
		t.Errorf("owned by %v: it goes with the Service, and is none of the slices that the cluster makes", owners)
	}
}

// A Pod of the Service that is ready at the site itself has all connections.
func TestLocalPodsComeFirst(t *testing.T) {
	s := newSite(t)
	eventually(t, "the name leads to the agent", s.ready)
	if !s.Idle("app", "web") || s.Idle("app", "other") {
		t.Error("nobody knows that web has no Pod here, or somebody knows of another Service")
	}
	s.clusterSlice(true)
	eventually(t, "a Pod is ready here", func() bool { return !s.ready() })
	if s.Idle("app", "web") {
		t.Error("it has a Pod here, and is idle")
	}
	s.clusterSlice(false)
	eventually(t, "it is not ready any more", s.ready)
	s.clusterSlice(true)
	eventually(t, "it is again", func() bool { return !s.ready() })
	s.api.Remove("discovery.k8s.io", "endpointslices", "app", "web-abcde")
	eventually(t, "it is gone", s.ready)
}

// A Service that goes, or does not reach its space any more, takes what was kept for it along. A port that it
// gives up is closed.
func TestANameEnds(t *testing.T) {
	s := newSite(t)
	conn := s.dial(t, "http")
	at := conn.RemoteAddr().String()
	s.api.Replace("v1", "Service", "app", "web", service(target.ReachSpace, port("also", 81, "TCP")))
	eventually(t, "one port is left", func() bool { return len(s.portsOf()) == 1 })
	if _, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", at); err == nil {
		t.Error("the port that was given up still answers")
	}
	s.api.Replace("v1", "Service", "app", "web", service("", port("also", 81, "TCP")))
	eventually(t, "the slice is gone", func() bool { return s.slice() == nil })
	_, _ = io.Copy(io.Discard, conn) // what was open has ended
	if text, err := os.ReadFile(filepath.Join(s.Dir, "services.json")); err != nil || string(text) != "{}" {
		t.Errorf("kept is %q, %v", text, err)
	}
	s.api.Replace("v1", "Service", "app", "web", service(target.ReachSpace, port("also", 81, "TCP")))
	eventually(t, "it is back", s.ready)
	s.api.Remove("", "services", "app", "web")
	eventually(t, "the slice has gone with it", func() bool { return s.slice() == nil })
}

// A Service that ceased to reach its space while the agent was away leaves no slice, which would lead to nobody.
func TestASliceOfAnEarlierRunGoes(t *testing.T) {
	s := &site{api: newAPI(t), up: newParent(t)}
	s.uid = s.api.Put("v1", "Service", "app", "web", service(target.ReachSpace, port("http", 80, "TCP")))
	dir := t.TempDir()
	stop := s.start(t, dir)
	eventually(t, "the name leads to the agent", s.ready)
	stop()
	s.api.Replace("v1", "Service", "app", "web", service("", port("http", 80, "TCP")))
	run(t, s, dir)
	eventually(t, "the slice is gone", func() bool { return s.slice() == nil })
}

// A site whose gateway is switched off keeps nothing, and removes what an earlier run has kept.
func TestASiteWithoutAGateway(t *testing.T) {
	s := newSite(t)
	eventually(t, "the name leads to the agent", s.ready)
	off := &site{api: newAPI(t), up: s.up, off: true}
	off.uid = off.api.Put("v1", "Service", "app", "web", service(target.ReachSpace, port("http", 80, "TCP")))
	run(t, off, t.TempDir())
	eventually(t, "it has looked", func() bool { return off.api.Listed("/apis/discovery.k8s.io/v1/endpointslices") == 1 })
	select {
	case <-off.needed:
		t.Error("it is needed")
	default:
	}
	again := &site{api: s.api, up: s.up, uid: s.uid, off: true}
	run(t, again, t.TempDir())
	eventually(t, "the slice is gone", func() bool { return s.slice() == nil })
}

// A slice of that name which somebody else has made stays as it is.
func TestAForeignSliceIsLeftAlone(t *testing.T) {
	api := newAPI(t)
	api.Put("discovery.k8s.io/v1", "EndpointSlice", "app", "skerry-web", m{"addressType": "FQDN"})
	s := &site{api: api, up: newParent(t)}
	s.uid = api.Put("v1", "Service", "app", "web", service(target.ReachSpace, port("http", 80, "TCP")))
	var tried atomic.Int32
	api.Before(func(method, _, name string) {
		if method == http.MethodPatch && name == "skerry-web" {
			tried.Add(1)
		}
	})
	run(t, s, t.TempDir())
	eventually(t, "it was tried again", func() bool { return tried.Load() > 1 })
	if o := s.slice(); o["addressType"] != "FQDN" || o["endpoints"] != nil {
		t.Errorf("it is %v", o)
	}
	api.Remove("", "services", "app", "web")
	eventually(t, "the Service is forgotten", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.entries) == 0
	})
	if s.slice() == nil {
		t.Error("it was removed")
	}
}

// A Service that cannot be made as it is to be, which whoever uses a space may bring about, keeps those of other spaces
// neither from being tried again soon nor from being tidied up after.
func TestAServiceThatFailsKeepsNoOtherWaiting(t *testing.T) {
	s := &site{api: newAPI(t), up: newParent(t)}
	s.api.Put("discovery.k8s.io/v1", "EndpointSlice", "app", "skerry-web", m{"addressType": "FQDN"}) // somebody else's
	s.uid = s.api.Put("v1", "Service", "app", "web", service(target.ReachSpace, port("http", 80, "TCP")))
	next := service(target.ReachSpace, port("http", 80, "TCP"))
	next["metadata"].(m)["name"] = "web-next"
	s.api.Put("v1", "Service", "app", "web-next", next) // of which nobody knows yet whose it is
	s.start(t, t.TempDir())()
	s.ports, _ = openPorts(filepath.Join(t.TempDir(), "services.json"))
	s.failed, s.dirty, s.stale = nil, map[name]struct{}{}, true // whatever it has come to
	defer s.closeAll()
	settle := func(service string, anew bool) {
		t.Helper()
		o, err := s.client.Get(t.Context(), services, "app", service, false)
		if err != nil {
			t.Fatal(err)
		}
		s.oneService(target.Added, o)
		if err := s.settle(t.Context()); err == nil || s.anew != anew {
			t.Errorf("%s fails anew: %t, %v", service, s.anew, err)
		}
	}
	settle("web", true)
	if s.stale {
		t.Error("fronts that stand for nothing stay")
	}
	settle("web", false)
	settle("web-next", true)
	settle("web-next", false)
}

// What has no name to lead elsewhere by has no slice, and a site without Services that reach their space watches
// none.
func TestWhatDoesNotLead(t *testing.T) {
	for name, change := range map[string]m{
		"no address yet": {"clusterIP": ""},
		"no selector":    {"selector": m{}},
		"another family": {"ipFamilies": []any{"IPv6"}},
		"UDP alone":      {"ports": []any{port("dns", 53, "UDP")}},
	} {
		o := service(target.ReachSpace, port("http", 80, "TCP"))
		for field, v := range change {
			o["spec"].(m)[field] = v
		}
		api := newAPI(t)
		s := &site{api: api, up: newParent(t), uid: api.Put("v1", "Service", "app", "web", o)}
		next := service(target.ReachSpace, port("http", 80, "TCP"))
		next["metadata"].(m)["name"] = "web-next"
		s.next = api.Put("v1", "Service", "app", "web-next", next)
		stop := s.start(t, t.TempDir())
		s.Need()
		eventually(t, "the next one leads", func() bool {
			return api.Object("discovery.k8s.io", "endpointslices", "app", "skerry-web-next") != nil
		})
		if s.slice() != nil {
			t.Errorf("%s: it has a slice", name)
		}
		stop()
	}
	api := newAPI(t)
	s := &site{api: api, up: newParent(t), uid: api.Put("v1", "Service", "app", "web", service("", port("http", 80, "TCP")))}
	run(t, s, t.TempDir())
	eventually(t, "it has looked once", func() bool { return api.Listed("/api/v1/services") == 1 })
	select {
	case <-s.needed:
		t.Error("it is needed by nobody")
	default:
	}
}

func name0(service string) name { return name{"app", service} }

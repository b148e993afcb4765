package services

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
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
		want := upward.ServiceCall{Namespace: "app", Service: "web", UID: "o-web", Port: port}
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

// reset reports whether a connection was ended without a byte.
func isReset(conn net.Conn) bool {
	_, err := conn.Read(make([]byte, 1))
	return errors.Is(err, syscall.ECONNRESET)
}

// Nobody but a Pod of the very space, with an address of its own, is served.
func TestStrangersAreReset(t *testing.T) {
	for name, change := range map[string]func(*site){
		"nobody":           func(s *site) { s.api.Remove("", "pods", "front", "caller") },
		"an ended Pod":     func(s *site) { s.caller(running("Succeeded")) },
		"the node":         func(s *site) { s.caller(m{"spec": m{"hostNetwork": true}, "status": running("")["status"]}) },
		"another space":    func(s *site) { s.namespaceOf("team", "u-team") },
		"an earlier space": func(s *site) { s.namespaceOf("shop", "u-earlier") },
		"two spaces": func(s *site) {
			s.api.Put("v1", "Namespace", "", "other", namespace("team", "u-team"))
			s.api.Put("v1", "Pod", "other", "also", running("Running"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			eventually(t, "the name leads to the agent", s.ready)
			change(s)
			s.forgets(t)
			if conn := s.dial(t, "http"); !isReset(conn) {
				t.Error("it is served")
			}
			if s.refusedFor(refusedCaller) == 0 {
				t.Error("it is not counted")
			}
		})
	}
}

// forgets waits until the site does not know any more who has the address of this machine.
func (s *site) forgets(t *testing.T) {
	t.Helper()
	eventually(t, "the change is seen", func() bool { return !s.isKnown() })
}

// isKnown reports whether the site knows who has the address of this machine.
func (s *site) isKnown() bool {
	return s.knows(callee{key: store.Key{Space: "shop"}, spaceUID: "u-shop"}, loopback)
}

// caller replaces who has the address of this machine.
func (s *site) caller(is m) {
	s.api.Remove("", "pods", "front", "caller")
	s.api.Put("v1", "Pod", "front", "caller", is)
}

func (s *site) namespaceOf(space, uid string) {
	s.api.Remove("", "namespaces", "", "front")
	s.api.Put("v1", "Namespace", "", "front", namespace(space, uid))
	s.api.Put("v1", "Pod", "front", "caller", running("Running"))
}

// Who has an address is not believed while nobody tells of changes: another space's Pod may have it by now.
func TestWhatIsNotWatchedIsNotBelieved(t *testing.T) {
	for _, kind := range []string{"pods", "namespaces"} {
		s := newSite(t)
		eventually(t, "the name leads to the agent", s.ready)
		eventually(t, "the caller is known", s.isKnown)
		s.api.Handle(func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/api/v1/"+kind || r.URL.Query().Has("fieldSelector") {
				return false
			}
			w.WriteHeader(http.StatusInternalServerError)
			return true
		})
		s.api.CutWatches()
		s.namespaceOf("team", "u-team")
		s.forgets(t)
		if conn := s.dial(t, "http"); !isReset(conn) || s.refusedFor(refusedCaller) == 0 {
			t.Errorf("without a watch of %s another space's Pod is served", kind)
		}
	}
}

// Whoever reaches the ports of this machine holds up no Pod of the space, and has the cluster asked no more than
// now and then.
func TestStrangersHoldUpNobody(t *testing.T) {
	s := newSite(t)
	eventually(t, "the caller is known", s.isKnown)
	answer := make(chan struct{})
	asked := atomic.Int32{}
	s.api.Handle(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/api/v1/pods" && r.URL.Query().Has("fieldSelector") {
			asked.Add(1)
			<-answer
		}
		return false
	})
	strangers := make([]*net.TCPConn, mostLooksOfSpace)
	for i := range strangers {
		strangers[i] = s.dialFrom(t, "127.0.0.2", "http")
	}
	eventually(t, "the cluster is asked about each", func() bool { return int(asked.Load()) == len(strangers) })
	if conn := s.dialFrom(t, "127.0.0.2", "http"); !isReset(conn) || s.refusedFor(refusedLimit) == 0 {
		t.Error("the cluster is asked about any number of callers")
	}
	if _, err := io.ReadFull(s.dial(t, "http"), make([]byte, 4)); err != nil {
		t.Errorf("a Pod of the space is held up: %v", err)
	}
	close(answer)
	for _, conn := range strangers {
		if !isReset(conn) {
			t.Error("a stranger is served")
		}
	}
	s.looks.mu.Lock()
	defer s.looks.mu.Unlock()
	if s.looks.all != 0 || len(s.looks.spaces) != 0 {
		t.Errorf("%d of %v are left", s.looks.all, s.looks.spaces)
	}
}

// A caller that is no Pod of the space is not asked about again at once, one that is may ask again.
func TestStrangersAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l looks
		at := netip.MustParseAddr("10.0.0.1")
		begin := func(space string) (func(bool), string) { return l.begin(space, at) }
		for _, again := range []bool{true, false} {
			done, refused := begin("shop")
			if refused != "" {
				t.Fatal(refused)
			}
			done(again)
		}
		if _, refused := begin("shop"); refused != refusedCaller {
			t.Errorf("asked about again at once: %q", refused)
		}
		if done, refused := begin("team"); refused != "" {
			t.Errorf("no stranger to another space, and %q", refused)
		} else {
			done(true)
		}
		time.Sleep(strangerTime)
		if _, refused := begin("shop"); refused != "" {
			t.Errorf("not asked about again: %q", refused)
		}
	})
}

// A site asks about no more callers at a time than it may, whatever spaces they call.
func TestLooksAreLimited(t *testing.T) {
	var l looks
	for i := range mostLooks {
		if _, refused := l.begin(fmt.Sprint(i), netip.IPv4Unspecified()); refused != "" {
			t.Fatal(refused)
		}
	}
	if _, refused := l.begin("one more", netip.IPv4Unspecified()); refused != refusedLimit {
		t.Errorf("more than it may: %q", refused)
	}
}

// A Pod that is known costs no question. One that is too new to be known is asked for.
func TestKnownCallersCostNothing(t *testing.T) {
	s := newSite(t)
	greeted := func() {
		t.Helper()
		if _, err := io.ReadFull(s.dial(t, "http"), make([]byte, 4)); err != nil {
			t.Error(err)
		}
	}
	asked := "/api/v1/pods?status.podIP=" + loopback
	greeted()
	if n := s.api.Listed(asked); n != 0 {
		t.Errorf("asked %d times for a Pod that is known", n)
	}
	s.mu.Lock()
	clear(s.pods)
	s.mu.Unlock()
	greeted()
	if n := s.api.Listed(asked); n == 0 {
		t.Error("not asked for a Pod that is not known")
	}
}

// A cluster that does not say who calls, and a parent that cannot be reached, end a call at once.
func TestWhatCannotBeKnownIsReset(t *testing.T) {
	s := newSite(t)
	conn := s.dial(t, "http")
	if _, err := io.ReadFull(conn, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	s.up.mu.Lock()
	s.up.cut = true
	s.up.mu.Unlock()
	if conn := s.dial(t, "http"); !isReset(conn) || s.refusedFor(refusedNowhere) == 0 {
		t.Error("without a parent it is not reset")
	}
	s.api.Handle(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/api/v1/pods" && r.URL.Query().Has("fieldSelector") {
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}
		return false
	})
	s.api.Remove("", "pods", "front", "caller")
	s.forgets(t)
	if conn := s.dial(t, "http"); !isReset(conn) || s.refusedFor(refusedUnknown) == 0 {
		t.Error("without an answer of the cluster it is not reset")
	}
}

// A Pod of the Service that is ready at the site itself has all connections.
func TestLocalPodsComeFirst(t *testing.T) {
	s := newSite(t)
	eventually(t, "the name leads to the agent", s.ready)
	s.clusterSlice(true)
	eventually(t, "a Pod is ready here", func() bool { return !s.ready() })
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

// A restart changes no port, and a file that cannot be read costs new ones.
func TestPortsOutliveARestart(t *testing.T) {
	dir := t.TempDir()
	s := newSite(t)
	first := &site{api: newAPI(t), up: s.up}
	first.uid = first.api.Put("v1", "Service", "app", "web", service(target.ReachSpace, port("http", 80, "TCP")))
	stop := first.start(t, dir)
	eventually(t, "the name leads to the agent", first.ready)
	before := first.portsOf()
	if before["http"] == s.portsOf()["http"] {
		t.Error("a port that another process has was given")
	}
	stop()
	stop = first.start(t, dir)
	conn := first.dial(t, "http")
	if after := first.portsOf(); after["http"] != before["http"] {
		t.Errorf("the port was %d and is %d", before["http"], after["http"])
	}
	if isReset(conn) {
		t.Error("it does not answer after a restart")
	}
	stop()
	if err := os.WriteFile(filepath.Join(dir, "services.json"), []byte(`{"u":{"80":1}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, first, dir)
	first.dial(t, "http")
}

// Ports of a Service that went while no agent ran come back: there are 2,000.
func TestPortsOfServicesThatWentComeBack(t *testing.T) {
	s := &site{api: newAPI(t), up: newParent(t)}
	s.uid = s.api.Put("v1", "Service", "app", "web", service(target.ReachSpace, port("http", 80, "TCP")))
	dir := t.TempDir()
	path := filepath.Join(dir, "services.json")
	text := fmt.Sprintf(`{"u-went":{"80":17000},%q:{"80":17001}}`, s.uid)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, s, dir)
	eventually(t, "the name leads to the agent", s.ready)
	want := fmt.Sprintf(`{%q:{"80":17001}}`, s.uid)
	if text, err := os.ReadFile(path); err != nil || string(text) != want {
		t.Errorf("kept is %q, %v, want %q", text, err, want)
	}
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

// What has no name to lead elsewhere by has no slice, and a site without Services that reach their space watches
// none.
func TestWhatDoesNotLead(t *testing.T) {
	for name, change := range map[string]m{
		"headless":       {"clusterIP": "None"},
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
		stop := s.start(t, t.TempDir())
		s.Need()
		mark := service(target.ReachSpace, port("http", 80, "TCP"))
		mark["metadata"].(m)["name"] = "mark"
		api.Put("v1", "Service", "app", "mark", mark)
		eventually(t, "it was looked at", func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			_, dirty := s.dirty[name0("web")]
			return s.known[name0("mark")] != nil && !dirty
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

// A space has no more than its share, and no site more than it may.
func TestSeats(t *testing.T) {
	s := seats{spaces: map[string]int{}}
	var give []func()
	for range mostOfSpace {
		give = append(give, s.take("shop"))
	}
	if s.take("shop") != nil {
		t.Error("a space has more than its share")
	}
	for range mostConnections - mostOfSpace {
		give = append(give, s.take("team"))
	}
	if s.take("other") != nil {
		t.Error("a site has more than it may")
	}
	for _, g := range give {
		g()
	}
	if s.all != 0 || len(s.spaces) != 0 {
		t.Errorf("%d of %v are left", s.all, s.spaces)
	}
}

func FuzzPorts(f *testing.F) {
	f.Add([]byte(`{"u-1":{"80":17000,"81":17001}}`))
	f.Add([]byte(`{"u-1":{"80":17000},"u-2":{"80":17000}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p := &ports{given: map[portKey]uint16{}, taken: map[uint16]struct{}{}}
		if !p.decode(text) {
			return
		}
		if len(p.given) != len(p.taken) {
			t.Errorf("%q gives %v", text, p.given)
		}
		for _, port := range p.given {
			if port < firstPort || port > lastPort {
				t.Errorf("%q gives %d", text, port)
			}
		}
	})
}

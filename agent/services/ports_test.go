package services

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/tunneltest"
)

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

// A space that has its share of the ports waits until it gives some up. Another space has its own.
func TestASpaceHasItsShareOfPorts(t *testing.T) {
	s := newSite(t)
	eventually(t, "the name leads to the agent", s.ready)
	greedy := &entry{of: callee{key: store.Key{Space: "shop"}}, ports: map[doorKey]*door{}, ending: func() {}}
	for n := range uint16(mostPortsOfSpace - len(s.portsOf())) {
		greedy.ports[doorKey{"", n}] = &door{listener: tunneltest.NewMemory()}
	}
	full := func(is *entry) {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.entries, name0("greedy"))
		if is != nil {
			s.entries[name0("greedy")] = is
		}
	}
	full(greedy)
	if err := hasShare(s.Services, greedy); !errors.Is(err, errNoShare) {
		t.Fatalf("there is room: %v", err)
	}
	if err := hasShare(s.Services, &entry{of: callee{key: store.Key{Space: "team"}}}); err != nil {
		t.Errorf("another space: %v", err)
	}
	more := service(target.ReachSpace, port("http", 80, "TCP"), port("also", 81, "TCP"), port("more", 82, "TCP"))
	s.api.Replace("v1", "Service", "app", "web", more)
	eventually(t, "it is told that there is no room", func() bool { return s.log.has("has its share of the ports") })
	if _, has := s.portsOf()["more"]; has {
		t.Error("it has more than its share")
	}
	full(nil)
	eventually(t, "there is room", func() bool { return s.portsOf()["more"] != 0 })
}

// What other spaces export leaves a space room for its own Services.
func TestImportsHaveTheirShareOfPorts(t *testing.T) {
	s := New(Config{})
	entryOf := func(service string, ports int) *entry {
		e := &entry{of: callee{key: store.Key{Space: "shop"}, at: name0(service)}, ports: map[doorKey]*door{}}
		for n := range uint16(ports) {
			e.ports[doorKey{"", n}] = &door{}
		}
		s.entries[e.of.at] = e
		return e
	}
	own, one, many := entryOf("own", 10), entryOf("one", 1), entryOf("many", mostPortsOfImports-1)
	for _, is := range []*entry{one, many} {
		s.members[is.of.at] = map[owner]bool{{"desk", "u-desk"}: true}
	}
	for what, c := range map[string]struct {
		of   *entry
		want error
	}{"an import": {one, errNoShareOfImports}, "the space's own": {own, nil}} {
		if err := hasShare(s, c.of); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	delete(s.entries, many.of.at)
	if err := hasShare(s, one); err != nil {
		t.Errorf("there is room again: %v", err)
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

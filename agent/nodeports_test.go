package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"testing"

	"skerry.dev/skerry/store"
)

// Services whose ports of nodes change places: each wants the port that the next one has, and the target
// refuses one that is taken. They get them, over namespaces, and no other Service is changed for it.
func TestNodePortsChangePlaces(t *testing.T) { inBubble(t, nodePortsChangePlaces) }

func nodePortsChangePlaces(t *testing.T) {
	s := newSite(t)
	s.api.Handle(s.ownsNodePorts)
	s.desire(namespace("other"), onPort(1, "default", "a", 30001), onPort(1, "other", "b", 30002),
		onPort(1, "default", "c", 30003), onPort(1, "default", "next", 30004))
	s.settled()
	now := []store.Entry{onPort(2, "default", "a", 30002), onPort(2, "other", "b", 30003),
		onPort(2, "default", "c", 30001)}
	s.desire(now...)
	for _, e := range now {
		s.healthy(e)
	}
	if got := s.portsOf("default/a", "other/b", "default/c"); got != "30002 30003 30001" {
		t.Errorf("a, b and c have the ports %s", got)
	}
	if n := s.writesTo("next"); n != 1 {
		t.Errorf("%d writes to a Service that is not concerned", n)
	}
}

// A Service whose port is taken by one that keeps it is reachable where it was, though another one waits
// for the port that it is to lose.
func TestATakenNodePortTakesNone(t *testing.T) { inBubble(t, aTakenNodePortTakesNone) }

func aTakenNodePortTakesNone(t *testing.T) {
	s := newSite(t)
	s.api.Handle(s.ownsNodePorts)
	s.api.Put("v1", "Service", "default", "foreign", serviceOn(30009))
	s.desire(onPort(1, "default", "a", 30001), onPort(1, "default", "b", 30002))
	s.settled()
	a, b := onPort(2, "default", "a", 30009), onPort(2, "default", "b", 30001)
	s.desire(a, b)
	s.reported(a, "Invalid")
	s.reported(b, "Invalid")
	if got := s.portsOf("default/a", "default/b"); got != "30001 30002" {
		t.Errorf("a and b have the ports %s", got)
	}
}

func serviceOn(port int) map[string]any {
	return map[string]any{"spec": map[string]any{"type": "NodePort",
		"ports": []any{map[string]any{"name": "web", "port": 80, "protocol": "TCP", "nodePort": port}}}}
}

func onPort(generation int64, ns, name string, port int) store.Entry {
	return liveAt(generation, "", "services", "v1", "Service", ns, name, serviceOn(port))
}

// portsOf are the ports of nodes that Services have on the target.
func (s *site) portsOf(names ...string) string {
	var out []string
	for _, name := range names {
		out = append(out, fmt.Sprint(portOf(s.api.Object("", "services", path.Dir(name), path.Base(name)))))
	}
	return strings.Join(out, " ")
}

func portOf(service map[string]any) any {
	spec, _ := service["spec"].(map[string]any)
	ports, _ := spec["ports"].([]any)
	if len(ports) == 0 {
		return nil
	}
	return ports[0].(map[string]any)["nodePort"]
}

// ownsNodePorts refuses a Service a port that another one has, as the API of a cluster does.
func (s *site) ownsNodePorts(w http.ResponseWriter, r *http.Request) bool {
	name := path.Base(r.URL.Path)
	if r.Method != http.MethodPatch || path.Base(path.Dir(r.URL.Path)) != "services" {
		return false
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	var given map[string]any
	if json.Unmarshal(body, &given) != nil {
		return false
	}
	for _, ns := range []string{"default", "other"} {
		for _, o := range s.api.Objects("", "services", ns) {
			other := o["metadata"].(map[string]any)["name"]
			if other == name || fmt.Sprint(portOf(o)) != fmt.Sprint(portOf(given)) {
				continue
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,`+
				`"message":"Service %q is invalid: spec.ports[0].nodePort: Invalid value: %v: provided port is already allocated"}`,
				name, portOf(given))
			return true
		}
	}
	return false
}

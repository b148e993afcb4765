package services

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/exchange"
	"skerry.dev/skerry/tunnel/upward"
)

const spacesNamespace = "skerry-spaces"

// governing is a headless Service as it is delivered, with the hosts of its Pods.
func governing(hosts string, ports ...any) m {
	o := service(target.ReachSpace, ports...)
	o["spec"].(m)["clusterIP"] = headless
	if hosts != "" {
		o["metadata"].(m)["annotations"].(m)[target.AnnotationHosts] = hosts
	}
	return o
}

// newHeadless is a site with a headless Service web.
func newHeadless(t *testing.T, hosts string) *site {
	s := &site{api: newAPI(t), up: newParent(t)}
	s.uid = s.api.Put("v1", "Service", "app", "web", governing(hosts, m{"name": "sql", "port": 5432, "targetPort": 5433},
		m{"name": "named", "port": 80, "targetPort": "http"}, m{"name": "dns", "port": 53, "protocol": "UDP"}))
	s.addresses()
	s.api.Put("v1", "Namespace", "", spacesNamespace, m{})
	return run(t, s, t.TempDir())
}

// addresses has the cluster give each Service without an address one.
func (s *site) addresses() {
	next := 0
	s.api.Mutate(func(plural string, o map[string]any) {
		spec, _ := o["spec"].(m)
		if plural == "services" && spec != nil && spec["clusterIP"] == nil {
			next++
			spec["clusterIP"] = fmt.Sprint("10.96.7.", next)
		}
	})
}

// hosts are those that the site's DNS answers with, as HOST=ADDRESS.
func (s *site) hosts() (out []string) {
	o := s.slice()
	if o == nil {
		return nil
	}
	endpoints, _ := o["endpoints"].([]any)
	for _, e := range endpoints {
		host, _ := e.(m)["hostname"].(string)
		out = append(out, fmt.Sprintf("%s=%v", host, e.(m)["addresses"].([]any)[0]))
	}
	return out
}

func (s *site) front(host string) m {
	return s.api.Object("", "services", spacesNamespace, target.FrontName(s.uid, host))
}

// frontPorts are those of a front: by what callers know, where the agent listens.
func (s *site) frontPorts(host string) map[string]string {
	out := map[string]string{}
	if o := s.front(host); o != nil {
		for _, p := range o["spec"].(m)["ports"].([]any) {
			out[fmt.Sprint(p.(m)["port"])] = fmt.Sprint(p.(m)["targetPort"])
		}
	}
	return out
}

// Each Pod of a headless Service has an address of its own at a site where it is not, with the ports of Pods.
func TestHostsLeadToTheirPods(t *testing.T) {
	s := newHeadless(t, "db-{0..1}")
	eventually(t, "both have addresses", func() bool { return len(s.hosts()) == 2 })
	for _, host := range []string{"db-0", "db-1"} {
		address := fmt.Sprint(s.front(host)["spec"].(m)["clusterIP"])
		if !slices.Contains(s.hosts(), host+"="+address) {
			t.Errorf("%s has address %s, and DNS says %v", host, address, s.hosts())
		}
		ports := s.frontPorts(host)
		if len(ports) != 2 || ports["5433"] == "" || ports["80"] == "" {
			t.Errorf("%s answers at %v", host, ports)
		}
		conn := s.dialHost(t, host, "5433")
		got := make([]byte, len("port 5432: "))
		if _, err := conn.Read(got); err != nil || string(got) != "port 5432: " {
			t.Errorf("%s says %q, %v", host, got, err)
		}
		s.up.mu.Lock()
		called := func(c upward.ServiceCall) bool { return c.Host == host && c.Port == 5432 && c.UID == "o-web" }
		if !slices.ContainsFunc(s.up.calls, called) {
			t.Errorf("called %v", s.up.calls)
		}
		s.up.mu.Unlock()
	}
	if ports := s.portsOf(); ports["sql"] != 5433 || ports["named"] != 80 || ports["dns"] != 0 {
		t.Errorf("DNS says ports %v", ports)
	}
}

// A site with a Pod of it, ready or not, has these alone: they may be about to find one another.
func TestPodsOfOneSiteMeetNoOthers(t *testing.T) {
	s := newHeadless(t, "db-{0..1}")
	eventually(t, "both have addresses", func() bool { return len(s.hosts()) == 2 })
	local := func(endpoints ...any) {
		s.api.Put("discovery.k8s.io/v1", "EndpointSlice", "app", "web-abcde", m{
			"metadata": m{"labels": m{target.LabelSite: "s-1", serviceName: "web", headlessSlice: ""}}, "endpoints": endpoints})
	}
	local(m{"addresses": []any{"10.244.0.5"}, "conditions": m{"ready": false}})
	eventually(t, "a Pod begins here", func() bool { return len(s.hosts()) == 0 })
	if s.Leaving("app", map[string]string{"app": "web"}) != 0 {
		t.Error("its Pods wait for callers to be led away, and end without their names")
	}
	local()
	eventually(t, "it has gone", func() bool { return len(s.hosts()) == 2 })
}

// dialHost connects to a port of a Pod, as the site's DNS and kube-proxy have a caller do.
func (s *site) dialHost(t *testing.T, host, called string) net.Conn {
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", net.JoinHostPort(loopback, s.frontPorts(host)[called]))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// Who waits for one Pod keeps nobody from another one that is there.
func TestCallersWaitForTheirPod(t *testing.T) {
	s := newHeadless(t, "db-{0..1}")
	eventually(t, "both have addresses", func() bool { return len(s.hosts()) == 2 })
	moves := func(host, fault string) {
		s.up.mu.Lock()
		defer s.up.mu.Unlock()
		s.up.moves, s.up.fault = host, fault
	}
	moves("", exchange.Moving)
	waits := s.dialHost(t, "db-1", "80")
	eventually(t, "one waits", func() bool { return s.waiting() == 1 })
	other := s.dialHost(t, "db-0", "80")
	eventually(t, "both wait", func() bool { return s.waiting() == 2 })
	moves("db-1", "")
	greeted(t, other)
	if s.waiting() != 1 {
		t.Error("what waits for db-1 waits no more")
	}
	moves("", "")
	greeted(t, waits)
}

// Hosts follow the StatefulSet. What stood for one that went goes, and with the Service all of it.
func TestHostsComeAndGo(t *testing.T) {
	s := newHeadless(t, "")
	eventually(t, "one address stands for any Pod", func() bool { return len(s.hosts()) == 1 && s.front("") != nil })
	if !strings.HasPrefix(s.hosts()[0], "=") {
		t.Errorf("it has the name of one: %v", s.hosts())
	}
	write := func(hosts string) {
		s.api.Replace("v1", "Service", "app", "web", governing(hosts, m{"name": "sql", "port": 5432}))
	}
	write("db-{0..2}")
	eventually(t, "three", func() bool { return len(s.hosts()) == 3 && s.front("db-2") != nil && s.front("") == nil })
	write("db-{0..0},arbiter-{1..1}")
	eventually(t, "two others", func() bool {
		return len(s.hosts()) == 2 && s.front("arbiter-1") != nil && s.front("db-2") == nil && s.front("db-0") != nil
	})
	s.api.Remove("", "services", "app", "web")
	eventually(t, "all is gone", func() bool {
		return s.slice() == nil && s.front("arbiter-1") == nil && s.front("db-0") == nil
	})
}

// A restart changes no port and no address, and removes what an earlier run has left.
func TestFrontsOutliveARestart(t *testing.T) {
	s := &site{api: newAPI(t), up: newParent(t)}
	s.uid = s.api.Put("v1", "Service", "app", "web", governing("db-{0..0}", m{"name": "sql", "port": 5432}))
	s.addresses()
	s.api.Put("v1", "Namespace", "", spacesNamespace, m{})
	dir := t.TempDir()
	stop := s.start(t, dir)
	eventually(t, "it has an address", func() bool { return len(s.hosts()) == 1 })
	hosts, ports := s.hosts(), s.frontPorts("db-0")
	stop()
	left := target.FrontName("u-went", "db-0")
	s.api.Put("v1", "Service", spacesNamespace, left, m{"metadata": m{"labels": m{target.LabelFront: "u-went",
		target.LabelGateway: "true"}}})
	s.api.Put("v1", "Service", spacesNamespace, "theirs", m{"metadata": m{"labels": m{target.LabelFront: "u-went"}}})
	run(t, s, dir)
	eventually(t, "what was left has gone", func() bool {
		return s.api.Object("", "services", spacesNamespace, left) == nil
	})
	if s.api.Object("", "services", spacesNamespace, "theirs") == nil {
		t.Error("a Service that the agent has not made was removed")
	}
	if now := s.frontPorts("db-0"); !slices.Equal(s.hosts(), hosts) || now["5432"] != ports["5432"] {
		t.Errorf("it was %v at %v, and is %v at %v", hosts, ports, s.hosts(), now)
	}
}

func FuzzHosts(f *testing.F) {
	f.Add("db-{0..2},arbiter-{7..7}")
	f.Add("db-{2..999999999}")
	f.Fuzz(func(t *testing.T, text string) {
		o := &target.Object{}
		o.Metadata.Annotations = map[string]string{target.AnnotationHosts: text}
		hosts := hostsOf(o)
		if len(hosts) == 0 || len(hosts) > mostHosts {
			t.Errorf("%d hosts", len(hosts))
		}
		for _, host := range hosts {
			if host == "" && len(hosts) > 1 || len(host) > 63 {
				t.Errorf("%q of %q", host, text)
			}
		}
	})
}

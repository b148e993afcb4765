package services

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/tunnel/exchange"
)

// trace has the site call its Service for a user of space shop.
func (s *site) trace(t *testing.T, options ...string) (*exchange.Traced, error) {
	t.Helper()
	clients := target.NewClients(target.Cluster(s.api.Config()))
	t.Cleanup(clients.CloseIdle)
	client, err := clients.For(target.RootSpace)
	if err != nil {
		t.Fatal(err)
	}
	live, err := client.Get(t.Context(), services, "app", "web", false)
	if err != nil {
		t.Fatal(err)
	}
	r := &exchange.Request{Space: "shop", SpaceUID: "u-shop", Namespace: "app", Pod: "web", Verb: exchange.Call,
		Resource: exchange.Services, UID: s.uid, Query: map[string][]string{}}
	for i := 0; i < len(options); i += 2 {
		r.Query.Set(options[i], options[i+1])
	}
	return CallOf(s.Services)(t.Context(), r, live)
}

func reasons(found *exchange.Traced) string {
	var all []string
	for _, hop := range found.Hops {
		all = append(all, hop.At+":"+hop.Reason)
	}
	return strings.Join(all, " ")
}

// A trace takes the way of a caller: to the agent where no Pod is ready, and to a Pod of this site where one is. It goes
// as a Pod of the space, and takes no seat any more when it is over.
func TestATraceTakesTheWayOfACaller(t *testing.T) {
	var asked *exchange.Request
	api := newAPI(t)
	s := &site{api: api, up: newParent(t), here: func(ctx context.Context, r *exchange.Request) (*http.Response, error) {
		asked = r
		here, there := net.Pipe()
		there.Close()
		exchange.TraceOf(ctx).Add(exchange.Hop{At: ".", Reason: exchange.Answered, Pod: "web-1"})
		return &http.Response{StatusCode: http.StatusSwitchingProtocols, Header: exchange.Bytes(), Body: here}, nil
	}}
	s.uid = api.Put("v1", "Service", "app", "web", service(target.ReachSpace, port("http", 80, "TCP"), port("dns", 53, "UDP"),
		port("also", 81, "")))
	run(t, s, t.TempDir())
	eventually(t, "the name leads to the agent", s.ready)
	eventually(t, "the caller is known", func() bool {
		found, err := s.trace(t)
		return err == nil && found.As == "front/caller"
	})
	found, err := s.trace(t, exchange.OptionPort, "also")
	way := fmt.Sprintf("127.0.0.1:%d of EndpointSlice skerry-web", s.portsOf()["also"])
	if err != nil || found.Reason != exchange.Answered || found.Port != 81 || reasons(found) != ".:Gateway" ||
		!strings.Contains(found.Hops[0].Message, way) {
		t.Errorf("elsewhere: %+v, %v", found, err)
	}
	s.up.mu.Lock()
	last := s.up.calls[len(s.up.calls)-1]
	if is, err := exchange.ReadCaller(last.Caller); last.Port != 81 || err != nil || is.Namespace != "front" {
		t.Errorf("the parent was asked %+v", last)
	}
	s.up.mu.Unlock()
	s.clusterSlice(true)
	eventually(t, "a Pod is ready here", func() bool { return !s.ready() })
	found, err = s.trace(t)
	if err != nil || found.Reason != exchange.Answered || reasons(found) != ".:Local .:Answered" || found.Hops[1].Pod != "web-1" {
		t.Errorf("here: %+v, %v", found, err)
	}
	if asked.UID != s.uid || asked.SpaceUID != "u-shop" || asked.Caller == "" || asked.Query.Get(exchange.OptionPort) != "80" {
		t.Errorf("here was asked %+v", asked)
	}
	if n, _ := s.seats.Taken(); n != 0 {
		t.Errorf("%d seats are taken", n)
	}
}

// A trace says why nothing answers, and which Pods and ports there are not.
func TestATraceSaysWhy(t *testing.T) {
	s := newSite(t)
	eventually(t, "the name leads to the agent", s.ready)
	for name, c := range map[string]struct {
		options []string
		fault   string
		reason  string
		hops    string
	}{
		"nobody":  {nil, "ServiceUnavailable", exchange.Unreachable, ".:Gateway ..:Unreachable"},
		"policy":  {nil, exchange.Denied, exchange.Denied, ".:Gateway ..:DeniedByNetworkPolicy"},
		"moving":  {nil, exchange.Moving, exchange.Moving, ".:Gateway ..:Moving"},
		"no port": {[]string{exchange.OptionPort, "dns"}, "", exchange.NoPort, ".:NoPort"},
	} {
		s.up.mu.Lock()
		s.up.fault = c.fault
		s.up.mu.Unlock()
		found, err := s.trace(t, c.options...)
		if err != nil || found.Reason != c.reason || reasons(found) != c.hops || found.Message == "" {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
	if _, err := s.trace(t, exchange.OptionAs, "app/stranger"); err == nil || exchange.FaultOf(err).Code != http.StatusBadRequest {
		t.Errorf("as a Pod that is not there: %v", err)
	}
	cut := newSite(t)
	cut.up.cut = true
	eventually(t, "the name leads to the agent", cut.ready)
	found, err := cut.trace(t)
	if err != nil || found.Reason != exchange.Unreachable || reasons(found) != ".:Gateway ..:Unreachable" {
		t.Errorf("cut off: %+v, %v", found, err)
	}
}

// Pods of other spaces and of an earlier space of the name call for nobody.
func TestATraceGoesAsNobodyElse(t *testing.T) {
	s := newSite(t)
	s.api.Put("v1", "Namespace", "", "theirs", namespace("other", "u-other"))
	s.api.Put("v1", "Pod", "theirs", "one", running("Running"))
	s.api.Put("v1", "Namespace", "", "before", namespace("shop", "u-before"))
	s.api.Put("v1", "Pod", "before", "one", running("Running"))
	eventually(t, "all are known", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.residents) == 3 && s.homes["theirs"].space == "other" && s.homes["before"].uid == "u-before"
	})
	eventually(t, "the name leads to the agent", s.ready)
	for _, as := range []string{"theirs/one", "before/one"} {
		if found, err := s.trace(t, exchange.OptionAs, as); err == nil {
			t.Errorf("as %s: %+v", as, found)
		}
	}
	found, err := s.trace(t)
	if err != nil || found.As != "front/caller" {
		t.Errorf("%+v, %v", found, err)
	}
}

// A Service that does not reach its space, and each one at a site without a gateway, is that of this site alone.
func TestATraceOfWhatStaysHere(t *testing.T) {
	nobody := func(context.Context, *exchange.Request) (*http.Response, error) {
		return nil, &exchange.Fault{Code: http.StatusServiceUnavailable, Message: "none of its pods is ready here"}
	}
	for name, c := range map[string]struct {
		reach string
		off   bool
		says  string
	}{
		"its own word": {"", false, "does not reach its space"},
		"no gateway":   {target.ReachSpace, true, "--gateway-address of its agent is off"},
	} {
		api := newAPI(t)
		s := &site{api: api, up: newParent(t), off: c.off, here: nobody}
		s.uid = api.Put("v1", "Service", "app", "web", service(c.reach, port("http", 80, "TCP")))
		run(t, s, t.TempDir())
		found, err := s.trace(t)
		if err != nil || reasons(found) != ".:Local .:Unreachable" || !strings.Contains(found.Hops[0].Message, c.says) ||
			!strings.Contains(found.Message, "none of its pods") || len(s.up.calls) > 0 {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

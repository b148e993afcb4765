package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"skerry.dev/skerry/agent/inventory"
	"skerry.dev/skerry/agent/policy"
	"skerry.dev/skerry/agent/target"
	"skerry.dev/skerry/store"
)

// A pod that has what its template names reaches the API of its space, and nobody else does.
func TestPodsReachTheirSpace(t *testing.T) {
	api, p := newAPI(t), newParent(t)
	s := newSite(t, t.TempDir(), api, p, "127.0.0.1:0")
	if s.at.IsValid() {
		t.Error("it listens though nothing needs it")
	}
	must(t, s.provided(t, "op"))
	address := api.Object("", "configmaps", "pre-app", store.PodAPIConfigMap)["data"].(map[string]any)
	if address[store.PodAPIHost] != "10.96.0.7" || address[store.PodAPIPort] != "443" {
		t.Errorf("pods are told %v", address)
	}
	slice := api.Object("discovery.k8s.io", "endpointslices", target.DefaultSpaces, target.GatewayService)
	text, _ := json.Marshal(slice)
	if !strings.Contains(string(text), `"addresses":["127.0.0.1"]`) ||
		!strings.Contains(string(text), fmt.Sprint(s.at.Port())) {
		t.Errorf("the Service leads to %s", text)
	}
	secret := s.secret(t, "op")
	if secret[store.PodAPINamespace] != "app" {
		t.Errorf("the pods think that they are in %q", secret[store.PodAPINamespace])
	}
	if code, body := s.ask(t, secret, secret[store.PodAPIToken]); code != 200 ||
		body != "shop paris GET /api/v1/pods?watch=0" {
		t.Errorf("asked: %d %s", code, body)
	}
	eventually(t, "it knows all that is kept", func() bool { return !s.starting() })
	for name, other := range map[string]string{
		"none": "", "nonsense": "x", "too long": strings.Repeat("x", longestAccessToken+1),
		"forged": token("shop/app/op", 1, 2*time.Hour), "almost": secret[store.PodAPIToken] + "x",
	} {
		if code, body := s.ask(t, secret, other); code != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	before := api.Changes()
	must(t, s.provided(t, "op"))
	if p.count() != 1 || api.Changes() != before {
		t.Errorf("%d tokens, %d writes for the same again", p.count(), api.Changes()-before)
	}

	p.set(func(p *parent) { p.cut = true })
	if code, body := s.ask(t, secret, secret[store.PodAPIToken]); code != http.StatusServiceUnavailable {
		t.Errorf("cut off: %d %s", code, body)
	}
	if err := s.provided(t, "another"); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("a token while cut off: %v", err)
	}
	p.set(func(p *parent) { p.cut = false })
	if err := s.provided(t, "third"); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("it is asked for each workload anew: %v", err)
	}
	s.providing.Lock()
	s.silent = time.Now().Add(-silentTime)
	s.providing.Unlock()
	must(t, s.provided(t, "third"))
}

// A token is renewed at half of its life, and when the home refuses it. The one before is still
// good, for pods that have not read the new one yet; and so it is after a restart of the agent.
func TestTokensAreRenewed(t *testing.T) {
	api, p, dir := newAPI(t), newParent(t), t.TempDir()
	s := newSite(t, dir, api, p, "127.0.0.1:0")
	must(t, s.provided(t, "op"))
	first := s.secret(t, "op")
	who := identity{"shop", "app", "op"}
	s.mu.Lock()
	if left := time.Until(s.accounts[who].renewAt); left > 31*time.Minute || left < 29*time.Minute {
		t.Errorf("renewed in %s", left)
	}
	s.accounts[who].renewAt = time.Now()
	s.mu.Unlock()
	must(t, s.provided(t, "op"))
	second := s.secret(t, "op")
	if p.count() != 2 || second[store.PodAPIToken] == first[store.PodAPIToken] {
		t.Fatalf("%d tokens", p.count())
	}
	again := newSite(t, dir, api, p, "127.0.0.1:0")
	must(t, again.provided(t, "op"))
	if p.count() != 2 {
		t.Error("a restart asks for tokens that are there")
	}
	for _, g := range []*site{s, again} {
		for _, token := range []string{first[store.PodAPIToken], second[store.PodAPIToken]} {
			if code, body := g.ask(t, second, token); code != 200 {
				t.Errorf("%d %s", code, body)
			}
		}
	}
	again.Inventory.Put(op, inventory.Record{UID: "u-1", Account: "op", Prefix: "pre-"})
	p.set(func(p *parent) { p.denies = true })
	again.ask(t, second, second[store.PodAPIToken])
	again.ask(t, second, second[store.PodAPIToken])
	eventually(t, "a new token", func() bool {
		return again.secret(t,
			"op")[store.PodAPIToken] != second[store.PodAPIToken]
	})
	if p.count() != 3 {
		t.Errorf("%d tokens", p.count())
	}
	if code, _ := again.ask(t, second, first[store.PodAPIToken]); code != http.StatusUnauthorized {
		t.Error("the token before the last one is still good")
	}
}

// What no workload names any more goes after a while, and with the last account the address.
func TestWhatNobodyNamesGoes(t *testing.T) {
	api, p := newAPI(t), newParent(t)
	s := newSite(t, t.TempDir(), api, p, "127.0.0.1:0")
	must(t, s.provided(t, "op"))
	must(t, s.provided(t, "other"))
	s.Inventory.Put(op, inventory.Record{UID: "u-1", Account: "op", Prefix: "pre-"})
	must(t, s.look(t.Context()))
	if s.secret(t, "other") == nil {
		t.Error("it goes at once: its pods may still end")
	}
	gone := s.secret(t, "other")
	s.mu.Lock()
	s.accounts[identity{"shop", "app", "other"}].seen = time.Now().Add(-unusedTime)
	s.mu.Unlock()
	must(t, s.look(t.Context()))
	if s.secret(t, "other") != nil || s.secret(t, "op") == nil ||
		api.Object("", "configmaps", "pre-app", store.PodAPIConfigMap) == nil {
		t.Error("other has to go, and nothing else")
	}
	if code, _ := s.ask(t, gone, gone[store.PodAPIToken]); code != http.StatusUnauthorized {
		t.Error("a token of what has gone is good")
	}
	s.Inventory.Delete(op)
	s.mu.Lock()
	s.accounts[identity{"shop", "app", "op"}].seen = time.Now().Add(-unusedTime)
	s.mu.Unlock()
	must(t, s.look(t.Context()))
	if s.secret(t, "op") != nil || api.Object("", "configmaps", "pre-app", store.PodAPIConfigMap) != nil {
		t.Error("all has to go")
	}
	if api.Object("", "services", target.DefaultSpaces, target.GatewayService) != nil {
		t.Error("the Service stays")
	}
}

// What others remove at the target comes back, and what an earlier run has left goes.
func TestWhatOthersRemoveComesBack(t *testing.T) {
	api, p, dir := newAPI(t), newParent(t), t.TempDir()
	s := newSite(t, dir, api, p, "127.0.0.1:0")
	must(t, s.provided(t, "op"))
	remove := func() {
		api.Remove("", "secrets", "pre-app", store.PodAPISecret("op"))
		api.Remove("", "configmaps", "pre-app", store.PodAPIConfigMap)
	}
	remove()
	must(t, s.provided(t, "op"))
	if s.secret(t, "op") == nil || api.Object("", "configmaps", "pre-app", store.PodAPIConfigMap) == nil {
		t.Error("a workload that is applied does not find what it names")
	}
	remove()
	api.Remove("discovery.k8s.io", "endpointslices", target.DefaultSpaces, target.GatewayService)
	s.Inventory.Put(op, inventory.Record{UID: "u-1", Account: "op", Prefix: "pre-"})
	must(t, s.look(t.Context()))
	if s.secret(t, "op") != nil {
		t.Error("it is looked at all the time")
	}
	s.providing.Lock()
	s.checked = time.Now().Add(-checkEvery)
	s.providing.Unlock()
	must(t, s.look(t.Context()))
	if s.secret(t, "op") == nil || api.Object("", "configmaps", "pre-app", store.PodAPIConfigMap) == nil ||
		api.Object("discovery.k8s.io", "endpointslices", target.DefaultSpaces, target.GatewayService) == nil {
		t.Error("it does not come back")
	}
	later := newSite(t, dir, api, p, "127.0.0.1:0")
	must(t, later.look(t.Context()))
	if later.secret(t, "op") == nil {
		t.Error("what an earlier run has left goes at once")
	}
	later.mu.Lock()
	later.accounts[identity{"shop", "app", "op"}].seen = time.Now().Add(-unusedTime)
	later.mu.Unlock()
	must(t, later.look(t.Context()))
	if later.secret(t, "op") != nil {
		t.Error("what an earlier run has left stays")
	}
}

// Without a gateway, or without a token, a workload is told so.
func TestWhatASiteCannotGive(t *testing.T) {
	api, p := newAPI(t), newParent(t)
	var refused *policy.Refusal
	off := newSite(t, t.TempDir(), api, p, Off)
	if err := off.provided(t, "op"); !errors.As(err, &refused) || refused.Reason != policy.ReasonGateway ||
		!strings.Contains(refused.Message, "switched off") {
		t.Errorf("switched off: %v", err)
	}
	first := newSite(t, t.TempDir(), api, p, "127.0.0.1:0")
	must(t, first.provided(t, "op"))
	taken := newSite(t, t.TempDir(), api, p, first.at.String())
	if err := taken.provided(t, "op"); !errors.As(err, &refused) ||
		!strings.Contains(refused.Message, "address already in use") {
		t.Errorf("a port that is taken: %v", err)
	}
	p.set(func(p *parent) { p.refuses = true })
	if err := first.provided(t, "another"); err == nil || !strings.Contains(err.Error(), "no workload runs as that") {
		t.Errorf("no token: %v", err)
	}
	p.set(func(p *parent) { p.refuses = false })
	api.Put("v1", "Secret", "pre-app", store.PodAPISecret("mine"), nil)
	if err := first.provided(t, "mine"); err == nil || !strings.Contains(err.Error(), "is not the agent's") {
		t.Errorf("a Secret of somebody else: %v", err)
	}
}

// The pods of one account, or of one space, do not take all the room there is.
func TestSeats(t *testing.T) {
	s := &seats{spaces: map[string]int{}, accounts: map[identity]int{}}
	var given []func()
	take := func(who identity, want int) {
		t.Helper()
		n := 0
		for give := s.take(who); give != nil; give = s.take(who) {
			given = append(given, give)
			n++
		}
		if n != want {
			t.Errorf("%v takes %d, want %d", who, n, want)
		}
	}
	take(identity{"shop", "app", "op"}, mostOfAccount)
	take(identity{"shop", "app", "other"}, mostOfSpace-mostOfAccount)
	take(identity{"team", "app", "op"}, mostOfAccount)
	take(identity{"team", "app", "other"}, mostRequests-mostOfSpace-mostOfAccount)
	for _, give := range given {
		give()
	}
	if s.all != 0 || len(s.spaces) != 0 || len(s.accounts) != 0 {
		t.Errorf("left: %+v", s)
	}
}

// A pod that opens watches without an end is told to end some, and gets all of its room back.
func TestAFloodOfWatches(t *testing.T) {
	s := newSite(t, t.TempDir(), newAPI(t), newParent(t), "127.0.0.1:0")
	must(t, s.provided(t, "op"))
	must(t, s.provided(t, "other"))
	flood, other := s.secret(t, "op"), s.secret(t, "other")
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(flood[store.PodAPICA]))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "10.96.0.7"},
		ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithCancel(t.Context())
	var open []*http.Response
	for range mostOfAccount + 1 {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+s.at.String()+"/watch", nil)
		must(t, err)
		req.Header.Set("Authorization", "Bearer "+flood[store.PodAPIToken])
		resp, err := transport.RoundTrip(req)
		must(t, err)
		open = append(open, resp)
	}
	if last := open[mostOfAccount]; last.StatusCode != http.StatusTooManyRequests ||
		last.Header.Get("Retry-After") == "" ||
		open[mostOfAccount-1].StatusCode != http.StatusOK {
		t.Errorf("the last is answered with %s", last.Status)
	}
	if code, body := s.ask(t, other, other[store.PodAPIToken]); code != http.StatusOK {
		t.Errorf("another account: %d %s", code, body)
	}
	cancel()
	for _, resp := range open {
		resp.Body.Close()
	}
	eventually(t, "all room is given back", func() bool {
		s.seats.mu.Lock()
		defer s.seats.mu.Unlock()
		return s.seats.all == 0
	})
}

func TestAddress(t *testing.T) {
	for address, good := range map[string]bool{
		"auto": true, "off": true, "10.1.2.3:7446": true, ":7446": true, "[::1]:1": true,
		"": false, "host:7446": false, "10.1.2.3": false, "10.1.2.3:0": false, "10.1.2.3:99999": false,
	} {
		if err := CheckAddress(address); (err == nil) != good {
			t.Errorf("%q: %v", address, err)
		}
	}
	api := newAPI(t)
	s := newSite(t, t.TempDir(), api, newParent(t), Off)
	api.Put("v1", "Node", "", "n", map[string]any{"status": map[string]any{"addresses": []any{
		map[string]any{"type": "Hostname", "address": "n"}, map[string]any{"type": "InternalIP", "address": "127.0.0.1"}}}})
	if at, err := ownAddress(t.Context(), s.Clients); err != nil || at != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("beside its node it is %s, %v", at, err)
	}
}

func FuzzLifeOf(f *testing.F) {
	f.Add(token("x", 1, time.Hour))
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, token string) {
		begin, end := lifeOf(token)
		if begin.IsZero() != end.IsZero() || end.Before(begin) {
			t.Errorf("%q lives from %s to %s", token, begin, end)
		}
	})
}

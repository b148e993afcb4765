package exchange

import (
	"fmt"
	"net/url"
	"testing"
)

// TestShares: what is done makes room, once; places, shares and spaces do not count for each other.
func TestShares(t *testing.T) {
	var s Shares
	hook := func(space string) *Request { return &Request{Space: space, Verb: Connect} }
	var done []func()
	take := func(space string, n int) {
		t.Helper()
		for range n {
			end, err := s.Take("oslo", hook(space))
			if err != nil {
				t.Fatal(err)
			}
			done = append(done, end)
		}
	}
	take("team", MostOfSpace)
	if _, err := s.Take("oslo", hook("team")); FaultOf(err).Code != 429 {
		t.Errorf("one more of a space: %v", err)
	}
	for i := range MostOfWebhooks - MostOfSpace {
		take(fmt.Sprint("space-", i), 1)
	}
	if _, err := s.Take("oslo", hook("new")); FaultOf(err).Code != 429 {
		t.Errorf("one more: %v", err)
	}
	for at, r := range map[string]*Request{"oslo": {Space: "team", Verb: Log}, "paris": hook("team")} {
		end, err := s.Take(at, r)
		if err != nil {
			t.Errorf("%s: %v", at, err)
			continue
		}
		end()
	}
	done[0]()
	done[0]()
	take("team", 1)
	if _, err := s.Take("oslo", hook("team")); err == nil {
		t.Error("one that was done twice counts twice")
	}
	for _, end := range done {
		end()
	}
	for range MostOfUsers {
		end, err := s.Take("oslo", &Request{Verb: Exec})
		if err != nil {
			t.Fatal(err)
		}
		defer end()
	}
	if _, err := s.Take("oslo", &Request{Verb: Log}); FaultOf(err).Code != 429 {
		t.Errorf("one more user: %v", err)
	}
	if len(s.open) != 1 {
		t.Errorf("%v is left", s.open)
	}
}

// TestConnectRequests: the verb and its upgrade go together, and a port has to be named.
func TestConnectRequests(t *testing.T) {
	good := func() *Request {
		return &Request{Space: "shop", Namespace: "web", Pod: "app-1", UID: "u-1", Verb: Connect,
			Query: url.Values{OptionPort: {"8443"}}, Upgrade: Bytes()}
	}
	if err := good().Check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Request){
		"without a port":      func(r *Request) { r.Query = nil },
		"a port that is none": func(r *Request) { r.Query.Set(OptionPort, "0") },
		"a name as port":      func(r *Request) { r.Query.Set(OptionPort, "https") },
		"two ports":           func(r *Request) { r.Query.Add(OptionPort, "1") },
		"without an upgrade":  func(r *Request) { r.Upgrade = nil },
		"over SPDY":           func(r *Request) { r.Upgrade = SPDY("portforward.k8s.io") },
		"a command":           func(r *Request) { r.Query.Set("command", "sh") },
		"exec over bytes":     func(r *Request) { r.Verb, r.Query = Exec, nil },
		"a body":              func(r *Request) { r.Body = []byte("x") },
	} {
		r := good()
		change(r)
		if r.Check() == nil {
			t.Errorf("%s passes", name)
		}
	}
}

package exchange

import (
	"net/url"
	"testing"
)

// TestShares: what is done makes room, once; places and shares do not count for each other.
func TestShares(t *testing.T) {
	var s Shares
	var done []func()
	for range MostOfWebhooks {
		end, err := s.Take("oslo", Connect)
		if err != nil {
			t.Fatal(err)
		}
		done = append(done, end)
	}
	if _, err := s.Take("oslo", Connect); FaultOf(err).Code != 429 {
		t.Errorf("one more: %v", err)
	}
	for _, c := range []struct {
		at string
		v  Verb
	}{{"oslo", Log}, {"paris", Connect}} {
		end, err := s.Take(c.at, c.v)
		if err != nil {
			t.Errorf("%v: %v", c, err)
			continue
		}
		end()
	}
	done[0]()
	done[0]()
	if end, err := s.Take("oslo", Connect); err != nil {
		t.Error(err)
	} else {
		done[0] = end
	}
	if _, err := s.Take("oslo", Connect); err == nil {
		t.Error("one that was done twice counts twice")
	}
	for _, end := range done {
		end()
	}
	if len(s.open) != 0 {
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

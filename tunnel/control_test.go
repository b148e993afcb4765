package tunnel

import (
	"encoding/json"
	"errors"
	"testing"

	"skerry.dev/skerry/tunnel/lease"
)

// Whatever comes on the control stream is read or refused, and what is read is what is said again.
func FuzzControl(f *testing.F) {
	for _, v := range []any{
		Hello{AgentVersion: "v1", Credentials: &CredentialStatus{Bundle: "b"}},
		Welcome{Site: "uid", Wake: []byte("secret"), Link: Link{Hold: true}}, Refused{Reason: "Busy", RetryAfter: 1},
		certificate{Chain: []byte("pem"), Error: "no"}, Accept{Deletions: 3, DeletionsUpTo: 9},
		Bundle{PEM: []byte("pem"), Renew: true},
		ChildStatus{Conditions: []Condition{{Type: ClockInSync, Status: True}},
			Withheld: &Withheld{Deletions: 1, First: []string{"k"}}},
	} {
		raw, err := json.Marshal(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(`{"center":"0/1@2","at":"00000000000000000000000000000000/0@-2"}`))
	f.Add([]byte(`{"ended":"01000000000000000000000000000000"}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		again[Hello](t, payload)
		again[Welcome](t, payload)
		again[Refused](t, payload)
		again[certificate](t, payload)
		again[Accept](t, payload)
		again[Bundle](t, payload)
		again[Link](t, payload)
		again[Wish](t, payload)
		again[CredentialStatus](t, payload)
		again[ChildStatus](t, payload)
		again[Wanted](t, payload)
		again[lease.Request](t, payload)
		again[lease.Answer](t, payload)
	})
}

func again[T any](t *testing.T, payload []byte) {
	t.Helper()
	v, err := decode[T](payload)
	if err != nil {
		if !errors.Is(err, ErrProtocol) {
			t.Errorf("%T: %v", v, err)
		}
		return
	}
	first, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("%T: what was read cannot be said: %v", v, err)
	}
	if v, err = decode[T](first); err != nil {
		t.Fatalf("%T: %s cannot be read: %v", v, first, err)
	}
	if second, err := json.Marshal(v); err != nil || string(second) != string(first) {
		t.Errorf("%T: %s is %s, %v", v, first, second, err)
	}
}

package exchange

import (
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"
)

var aCaller = Caller{Namespace: "front", NamespaceLabels: map[string]string{"team": "a"},
	Labels: map[string]string{"app": "front"}, Address: netip.MustParseAddr("10.42.0.5")}

// What a site tells of a caller arrives as it is. One that is too large is not told at all.
func TestACallerIsTold(t *testing.T) {
	text := aCaller.Encode()
	if is, err := ReadCaller(text); err != nil || !reflect.DeepEqual(is, aCaller) {
		t.Errorf("%q is read as %v, %v", text, is, err)
	}
	for _, c := range []Caller{{Address: aCaller.Address}, {Namespace: "kube-system", OfSite: true, Address: aCaller.Address}} {
		if is, err := ReadCaller(c.Encode()); err != nil || !reflect.DeepEqual(is, c) {
			t.Errorf("%s is read as %v, %v", c.Encode(), is, err)
		}
	}
	large := aCaller
	large.Labels = map[string]string{"app": strings.Repeat("x", MaxCaller)}
	if text := large.Encode(); text != "" {
		t.Errorf("%d bytes are told", len(text))
	}
	lines := aCaller
	lines.Labels = map[string]string{"app": "höhe"}
	if text := lines.Encode(); text != "" {
		t.Errorf("%q is told in a header", text)
	}
}

// Nothing but what a site tells is read, and it goes with calls for Services alone.
func TestHostileCallers(t *testing.T) {
	text := aCaller.Encode()
	for _, bad := range []string{"", "{}", "x", text + " ", strings.Replace(text, "front", "Front", 1),
		strings.Replace(text, "10.42.0.5", "", 1), strings.Replace(text, `"labels"`, `"label"`, 1),
		`{"ofSite":true,"address":"10.42.0.5"}`, `{"labels":{"app":"x"},"address":"10.42.0.5"}`,
		`{"namespaceLabels":{"team":"x"},"address":"10.42.0.5"}`,
		`{"namespace":"front","address":"10.42.0.5","labels":{"a":"` + strings.Repeat("x", MaxCaller) + `"}}`} {
		if _, err := ReadCaller(bad); !errors.Is(err, ErrRequest) {
			t.Errorf("%.80q: %v", bad, err)
		}
	}
	r := ToService("shop", "app", "web", "", 80)
	r.Origin, r.Caller = "o-web", text
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	r.Caller = "{}"
	if err := r.Check(); !errors.Is(err, ErrRequest) {
		t.Errorf("a call from nobody: %v", err)
	}
	pod := &Request{Space: "shop", Namespace: "app", Pod: "web-1", UID: "u-1", Verb: Log, Caller: text}
	if err := pod.Check(); !errors.Is(err, ErrRequest) {
		t.Errorf("a log with a caller: %v", err)
	}
}

func FuzzReadCaller(f *testing.F) {
	f.Add(aCaller.Encode())
	f.Add(`{"namespace":"a","address":"fe80::1%eth0"}`)
	f.Fuzz(func(t *testing.T, text string) {
		if is, err := ReadCaller(text); err == nil && is.Encode() != text {
			t.Errorf("%q is read as %v", text, is)
		}
	})
}

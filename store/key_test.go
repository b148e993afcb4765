package store_test

import (
	"errors"
	"strings"
	"testing"

	"skerry.dev/skerry/store"
)

func TestKey(t *testing.T) {
	for _, k := range []store.Key{
		{Space: "shop", Group: "apps", Resource: "deployments", Namespace: "web", Name: "a"},
		{Space: "root", Resource: "namespaces", Name: "web"},
	} {
		if got, err := store.DecodeKey(k.Encode()); err != nil || got != k {
			t.Errorf("%s became %s, %v", k, got, err)
		}
	}
	for name, k := range map[string]store.Key{
		"no resource": {Name: "a"}, "no name": {Resource: "pods"},
		"slash": {Resource: "pods", Name: "a/b"}, "NUL": {Resource: "pods", Name: "a\x00"},
		"too long": {Resource: "pods", Name: strings.Repeat("a", store.MaxKeyBytes)},
	} {
		if err := k.Validate(); !errors.Is(err, store.ErrKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClassAndRank(t *testing.T) {
	crd := store.Key{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions",
		Name: "a"}
	namespace := store.Key{Resource: "namespaces", Name: "a"}
	other := store.Key{Group: "example.com", Resource: "namespaces", Name: "a"}
	order := []store.Entry{{Key: crd}, {Key: namespace}, {Key: other},
		{Key: other, Tombstone: true}, {Key: namespace, Tombstone: true},
		{Key: crd, Tombstone: true}}
	for i := 1; i < len(order); i++ {
		if order[i-1].Rank() >= order[i].Rank() {
			t.Errorf("%v is not before %v", order[i-1], order[i])
		}
	}
}

func FuzzDecodeKey(f *testing.F) {
	f.Add("shop/apps/deployments/web/a")
	f.Add("root//namespaces//web")
	f.Fuzz(func(t *testing.T, s string) {
		k, err := store.DecodeKey(s)
		if err != nil {
			return
		}
		if k.Encode() != s || k.Validate() != nil {
			t.Errorf("%q became %q", s, k.Encode())
		}
	})
}

func TestHashes(t *testing.T) {
	body := []byte(`{"uid":"u","status":{"at":5}}`)
	if store.HashBody(1, body) == store.HashBody(2, body) {
		t.Error("the generation does not count")
	}
	timed := []byte(`{"uid":"u","status":{"at":5},"at":1764000000000}`)
	later := []byte(`{"uid":"u","status":{"at":5},"at":1764000000001}`)
	if h := store.HashReport(1, timed); h != store.HashReport(1, later) ||
		h != store.HashBody(1, body) {
		t.Error("the time counts")
	}
	for _, whole := range []string{"", "{}", `{"status":{"at":5}}`, `{"a":1,"at":"x"}`,
		`{"a":1,"at":5`} {
		if store.HashReport(1, []byte(whole)) != store.HashBody(1, []byte(whole)) {
			t.Errorf("%s: something was left out", whole)
		}
	}
	h := store.HashBody(1, body)
	text, _ := h.MarshalText()
	var back store.Hash
	if err := back.UnmarshalText(text); err != nil || back != h {
		t.Errorf("%s became %s, %v", h, back, err)
	}
	if err := back.UnmarshalText(text[1:]); err == nil {
		t.Error("half a digit was read")
	}
}

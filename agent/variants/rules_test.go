package variants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/store/storetest/leak"
	"skerry.dev/skerry/tunnel/variant"
)

func TestMain(m *testing.M) { leak.Main(m) }

// site is a desired copy, a place for small values, and what was reported.
type site struct {
	t       *testing.T
	entries map[store.Key]store.Entry
	meta    map[string][]byte
	writes  int
	reports map[store.Key]*Report
	*Rules
}

func newSite(t *testing.T) *site {
	s := &site{t: t, entries: map[store.Key]store.Entry{}, meta: map[string][]byte{}, reports: map[store.Key]*Report{}}
	s.restart()
	return s
}

func (s *site) restart() {
	s.Rules = New(Config{Desired: s, Keep: s, Log: slog.New(slog.DiscardHandler),
		Report: func(k store.Key, r *Report) { s.reports[k] = r }})
	if err := s.Load(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) Each(visit func(store.Entry) error) error {
	for _, e := range s.entries {
		e.Body = nil
		if err := visit(e); err != nil {
			return err
		}
	}
	return nil
}

func (s *site) Get(k store.Key) (store.Entry, bool, error) {
	e, ok := s.entries[k]
	return e, ok, nil
}

func (s *site) Meta(name string) ([]byte, error) { return s.meta[name], nil }

func (s *site) SetMeta(name string, value []byte) error {
	s.writes++
	s.meta[name] = value
	return nil
}

// put commits an entry, and tries again what a rule concerns. It returns how many objects that are.
func (s *site) put(k store.Key, body string) int {
	s.t.Helper()
	e := store.Entry{Key: k, Tombstone: body == ""}
	if body != "" {
		e.Body, e.Hash, e.Generation = []byte(body), store.HashBody(1, []byte(body)), 1
	}
	s.entries[k] = e
	if k.Class() != store.ClassRule {
		return 0
	}
	s.Note(k)
	again, err := s.Refresh(k)
	if err != nil {
		s.t.Fatal(err)
	}
	return len(again)
}

// apply renders an object and puts it on the target; it returns the value of its field x.
func (s *site) apply(k store.Key) string {
	v, err := s.Render(k, s.entries[k].Body)
	if err != nil {
		s.Done(k, nil, nil)
		return err.Error()
	}
	s.Done(k, v.By, nil)
	var o struct {
		Data map[string]string `json:"data"`
	}
	if err := json.Unmarshal(v.Body, &o); err != nil {
		s.t.Fatal(err)
	}
	return o.Data["x"]
}

func (s *site) status(k store.Key) string {
	maps.Copy(s.reports, s.Rules.reports())
	r := s.reports[k]
	if r == nil {
		return "none"
	}
	return fmt.Sprintf("%t %s", r.Applied == s.entries[k].Hash, r.Status)
}

func rule(space, name string) store.Key {
	return store.Key{Space: space, Group: store.RulesGroup, Resource: store.RulesResource, Name: name}
}

func object1(space, name string) store.Key {
	return store.Key{Space: space, Resource: "configmaps", Namespace: "n", Name: name}
}

func ruleBody(name, clause, value string) string {
	return `{"metadata":{"name":"` + name + `","annotations":{"skerry.dev/origin-uid":"u"}},"spec":{"objects":[` +
		clause + `],"rules":[{"patches":[{"op":"add","path":"/data/x","value":"` + value + `"}]}]}}`
}

const body = `{"metadata":{"name":"a","namespace":"n","labels":{"l":"v"}},"data":{"x":"base"}}`

func TestRulesOfASpace(t *testing.T) {
	s := newSite(t)
	a, b, other := object1("shop", "a"), object1("shop", "b"), object1("bank", "a")
	for _, k := range []store.Key{a, b, other} {
		s.put(k, body)
	}
	if got := s.apply(a); got != "base" {
		t.Errorf("without rules: %s", got)
	}
	s.put(store.ValuesKey, `{"name":"one","labels":{"region":"eu"}}`)
	k := rule("shop", "c")
	if n := s.put(k, ruleBody("c", `{"names":["a"]}`, "{{ .labels.region }}")); n != 1 {
		t.Errorf("%d objects are tried again", n)
	}
	if got := s.status(k); !strings.HasPrefix(got, "false") {
		t.Errorf("applied before anything is: %s", got)
	}
	if got := s.apply(a) + s.apply(b) + s.apply(other); got != "eubasebase" {
		t.Errorf("rendered are %s", got)
	}
	if got := s.status(k); got != `true {"observedGeneration":1,"matched":1,"targets":1}` {
		t.Errorf("status %s", got)
	}

	// A label that goes fails for that object alone, and is told.
	if n := s.put(store.ValuesKey, `{"name":"one"}`); n != 1 {
		t.Errorf("%d objects are tried again", n)
	}
	if got := s.apply(a); !strings.Contains(got, "no label region") {
		t.Errorf("rendered is %s", got)
	}
	if got := s.status(k); !strings.Contains(got, `"failures":1`) || !strings.Contains(got, "MissingValue") ||
		!strings.Contains(got, "core/configmaps/n/a") {
		t.Errorf("status %s", got)
	}
	// Another space has no say.
	s.put(rule("bank", "c"), ruleBody("c", `{}`, "bank"))
	if got := s.apply(b) + s.apply(other); got != "basebank" {
		t.Errorf("rendered are %s", got)
	}

	// What the target refuses is told, and taken back when it takes it.
	s.put(store.ValuesKey, `{"name":"one","labels":{"region":"us"}}`)
	if v, err := s.Render(a, []byte(body)); err != nil || v.Hash == (store.Hash{}) {
		t.Fatal(err)
	}
	s.Done(a, []string{"c"}, &store.ReportError{Reason: "Invalid", Message: "no"})
	if got := s.status(k); !strings.Contains(got, "Invalid") {
		t.Errorf("status %s", got)
	}
	if got := s.apply(a); got != "us" || strings.Contains(s.status(k), "Invalid") {
		t.Errorf("%s, status %s", got, s.status(k))
	}

	// Without it the objects are tried again, and are the base.
	if n := s.put(k, ""); n != 1 {
		t.Errorf("%d objects are tried again", n)
	}
	if got := s.apply(a); got != "base" {
		t.Errorf("rendered is %s", got)
	}
	if got := s.status(k); got != "none" {
		t.Errorf("a Customizer that is gone is reported: %s", got)
	}
}

func TestNamespaceLabels(t *testing.T) {
	s := newSite(t)
	a := object1("shop", "a")
	s.put(a, body)
	s.put(store.ValuesKey, `{"name":"one"}`)
	s.put(rule("shop", "c"), ruleBody("c", `{"namespaceSelector":{"matchLabels":{"team":"x"}}}`, "{{ .name }}"))
	if got := s.apply(a); got != "base" {
		t.Errorf("rendered is %s", got)
	}
	s.put(store.Key{Space: "shop", Resource: "namespaces", Name: "n"}, `{"metadata":{"labels":{"team":"x"}}}`)
	if again := s.In("shop", "n"); !slices.Equal(again, []store.Key{a}) || len(s.In("shop", "m")) > 0 {
		t.Errorf("tried again are %v", again)
	}
	if got := s.apply(a); got != "one" {
		t.Errorf("rendered is %s", got)
	}
}

// What the copy has lost is known to be missing: nothing is rendered without it.
func TestALostRuleIsMissed(t *testing.T) {
	s := newSite(t)
	a, k := object1("shop", "a"), rule("shop", "c")
	s.put(a, body)
	s.put(store.ValuesKey, `{"name":"one"}`)
	s.put(k, ruleBody("c", "{}", "{{ .name }}"))
	writes := s.writes
	s.apply(a)
	s.restart()
	s.apply(a)
	kept, err := Kept(s)
	if err != nil || len(kept) != 2 || !slices.Contains(kept, k) || !slices.Contains(kept, store.ValuesKey) {
		t.Fatalf("kept are %v: %v", kept, err)
	}
	if s.writes > writes+1 {
		t.Errorf("%d writes for nothing new", s.writes-writes)
	}
	for _, lost := range kept {
		whole := s.entries[lost]
		s.entries[lost] = store.Entry{Key: lost, UnknownBody: true}
		s.restart()
		if _, err := s.Render(a, []byte(body)); !errors.Is(err, ErrUnknown) {
			t.Errorf("without %s it is rendered: %v", lost, err)
		}
		s.entries[lost] = whole
		s.Note(lost)
		if got := s.apply(a); got != "one" {
			t.Errorf("with %s again it is %s", lost, got)
		}
	}
	s.meta[keepName] = []byte("{")
	if _, err := Kept(s); err == nil {
		t.Error("nonsense is read")
	}
}

func TestAnInvalidRuleChangesNothing(t *testing.T) {
	s := newSite(t)
	a, k := object1("shop", "a"), rule("shop", "c")
	s.put(a, body)
	s.put(store.ValuesKey, `{"name":"one"}`)
	s.put(k, ruleBody("c", "{}", "{{ .nonsense }}"))
	if got := s.apply(a); got != "base" {
		t.Errorf("rendered is %s", got)
	}
	s.status(k)
	if r := s.reports[k]; r == nil || r.Invalid == nil || !strings.Contains(r.Invalid.Message, "spec.rules[0]") {
		t.Errorf("reported is %+v", r)
	}
}

func TestManyFailuresAreBounded(t *testing.T) {
	s := newSite(t)
	k := rule("shop", "c")
	s.put(store.ValuesKey, `{"name":"one"}`)
	s.put(k, ruleBody("c", "{}", "{{ .labels.none }}"))
	for i := range 3 * variant.MaxReasons {
		o := object1("shop", fmt.Sprintf("o%03d", i))
		s.put(o, body)
		s.apply(o)
	}
	s.status(k)
	var st status
	if err := json.Unmarshal(s.reports[k].Status, &st); err != nil || st.Failures != 60 ||
		len(st.Failed) != variant.MaxReasons || !strings.HasSuffix(st.Failed[0].Object, "o000") {
		t.Errorf("status %+v: %v", st, err)
	}
	s.Forget(object1("shop", "o000"))
	if s.status(k); !strings.Contains(string(s.reports[k].Status), `"failures":59`) {
		t.Errorf("status %s", s.reports[k].Status)
	}
}

func TestWaiting(t *testing.T) {
	s := newSite(t)
	k := rule("shop", "c")
	s.put(k, ruleBody("c", `{"names":["a"]}`, "x"))
	done := func(store.Key, store.Hash) bool { return false }
	for name, want := range map[string]string{"a": "c", "b": ""} {
		if got, err := s.Waiting(object1("shop", name), done); got != want || err != nil {
			t.Errorf("%s waits for %q: %v", name, got, err)
		}
	}
	has := func(_ store.Key, h store.Hash) bool { return h == s.entries[k].Hash }
	if got, err := s.Waiting(object1("shop", "a"), has); got != "" || err != nil {
		t.Errorf("it waits for %q: %v", got, err)
	}
}

func TestReportsAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		n := 0
		s.Rules.cfg.Report = func(store.Key, *Report) { n++ }
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		s.put(store.ValuesKey, `{"name":"one"}`)
		s.put(rule("shop", "c"), ruleBody("c", "{}", "x"))
		for i := range 50 {
			o := object1("shop", fmt.Sprint(i))
			s.put(o, body)
			s.apply(o)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n != 1 {
			t.Errorf("%d reports", n)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

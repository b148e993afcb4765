package services

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"skerry.dev/skerry/store"
	"skerry.dev/skerry/tunnel/exchange"
)

// The nearest comes first. Of those that are as near, each comes first as often as it has ready Pods.
func TestOrder(t *testing.T) {
	const ms = time.Millisecond
	away := map[string]time.Duration{"a": 10 * ms, "b": 11 * ms, "c": 12 * ms, "d": 13 * ms, "e": 50 * ms, "lan": ms / 10, "lan2": ms / 2}
	for name, c := range map[string]struct {
		targets string
		ready   map[string]int
		first   map[string]int // how often each comes first, of as many picks as there are chances
	}{
		"by their Pods":         {"e c b a", map[string]int{"a": 1, "b": 3, "c": 6, "e": 100}, map[string]int{"a": 1, "b": 3, "c": 6}},
		"too far to count":      {"d a", map[string]int{"a": 1, "d": 9}, map[string]int{"a": 1}},
		"nobody knows":          {"b a", nil, map[string]int{"a": 1, "b": 1}},
		"one is not known":      {"b a", map[string]int{"b": 4}, map[string]int{"a": 4, "b": 4}},
		"in one building":       {"lan2 lan", map[string]int{"lan": 1, "lan2": 2}, map[string]int{"lan": 1, "lan2": 2}},
		"how far is not known":  {"y x", map[string]int{"x": 9}, map[string]int{"y": 1}},
		"some are of no length": {"y b x", map[string]int{"x": 9}, map[string]int{"b": 1}},
		"none":                  {"", nil, map[string]int{}},
	} {
		first, picks := map[string]int{}, 1
		for n := 0; n < picks; n++ {
			targets := strings.Fields(c.targets)
			order(targets, func(at string) (time.Duration, bool) { d, known := away[at]; return d, known },
				func(at string) int { return c.ready[at] }, func(of int) int { picks = of; return n })
			if len(targets) > 0 {
				first[targets[0]]++
			}
			seen := map[string]bool{}
			for _, at := range targets {
				seen[at] = true
			}
			if len(seen) != len(strings.Fields(c.targets)) {
				t.Errorf("%s: %v", name, targets)
			}
			if name == "by their Pods" && targets[3] != "e" {
				t.Errorf("%s: %v", name, targets)
			}
		}
		if !reflect.DeepEqual(first, c.first) {
			t.Errorf("%s: %v, want %v", name, first, c.first)
		}
	}
}

// Where an application comes to, one call a second finds out whether it is ready: the others go where it is.
func TestOneCallFindsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r ready
		k := store.Key{Space: "shop", Name: "web"}
		old, next := place{answering{k: k}, "old"}, place{answering{k: k}, "next"}
		first := func(calls int) (out string) { // whom each of some calls asks first
			for range calls {
				all := []place{next, old} // the next one is nearer
				r.last(all)
				if len(all) != 2 || all[0].target == all[1].target {
					t.Fatal(all)
				}
				out += all[0].target + " "
			}
			return out
		}
		if first(2) != "next next " {
			t.Error("nobody knows better")
		}
		answer := &http.Response{Header: http.Header{exchange.HeaderReady: {"2"}}}
		r.answered(k, "old", answer)
		for range 3 {
			if first(3) != "next old old " {
				t.Error("one call finds out, and others do not wait for it")
			}
			r.answered(k, "next", nil)
			if first(1) != "old " {
				t.Error("it was not ready")
			}
			time.Sleep(doubtTime)
		}
		r.answered(k, "next", answer)
		if first(2) != "next next " {
			t.Error("it is ready")
		}
		r.answered(k, "old", nil)
		if first(1) != "next " {
			t.Error("the other one is not")
		}
	})
}

// What is remembered is what a target said last, and never grows without an end.
func TestReadyIsRemembered(t *testing.T) {
	said := func(n string) *http.Response {
		resp := &http.Response{Header: http.Header{}}
		resp.Header.Set(exchange.HeaderReady, n)
		return resp
	}
	var r ready
	k := store.Key{Space: "shop", Name: "web"}
	for _, c := range []struct {
		resp *http.Response
		want int
	}{{said("3"), 3}, {said("x"), 0}, {said("5"), 5}, {said("-1"), 0}, {said("7"), 7}, {nil, 0}, {said("99999999"), 10_000}} {
		if r.answered(k, "oslo", c.resp); r.of(k, "oslo") != c.want || r.of(k, "rome") != 0 {
			t.Errorf("%v: %d", c, r.of(k, "oslo"))
		}
	}
	for i := range 3 * mostSeen {
		r.answered(store.Key{Name: string(rune(i))}, "oslo", said("1"))
	}
	if len(r.all) > mostSeen {
		t.Errorf("%d are remembered", len(r.all))
	}
}

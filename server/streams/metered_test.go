package streams

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"skerry.dev/skerry/tunnel/exchange"
)

// TestMeteredLog: a log over a link that is paid for is cut, and says so; one that is short, or
// whose reader says how much it wants, is as it is.
func TestMeteredLog(t *testing.T) {
	for name, c := range map[string]struct {
		length int
		limit  string
		asked  string
		cut    bool
	}{
		"long":     {meteredAnswer, "", "1048576", true},
		"short":    {1000, "", "1048576", false},
		"as asked": {5000, "5000", "5000", false},
	} {
		t.Run(name, func(t *testing.T) {
			asked := ""
			s := New(Config{SpaceUID: uidOf, Metered: func(target string) bool { return target == "oslo" },
				Targets: sites{
					func(_ context.Context, r *exchange.Request) (*http.Response, error) {
						asked = r.Query.Get("limitBytes")
						return ok(strings.Repeat("x", c.length)), nil
					},
				}})
			r := logOf()
			if c.limit != "" {
				r.Query = map[string][]string{"limitBytes": {c.limit}}
			}
			resp, err := s.Do(t.Context(), "oslo", r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil || asked != c.asked ||
				strings.Contains(string(text), "metered") != c.cut ||
				strings.Count(string(text), "x") != c.length {
				t.Errorf("%d bytes, asked for %s: %v", len(text), asked, err)
			}
		})
	}
}

// TestMeteredView: an answer about objects is bounded over a link that is paid for, unless its reader
// says how much it wants. What is done to Pods is not.
func TestMeteredView(t *testing.T) {
	view := func(options ...string) *exchange.Request {
		r := &exchange.Request{Space: "shop", Verb: exchange.View, Query: url.Values{"version": {"v1"}, "resource": {"pods"}}}
		for i := 0; i < len(options); i += 2 {
			r.Query.Set(options[i], options[i+1])
		}
		return r
	}
	evict := logOf()
	evict.Verb = exchange.Evict
	for name, c := range map[string]struct {
		target string
		r      *exchange.Request
		asked  string
	}{
		"a list":      {"oslo", view(), "1048576"},
		"a watch":     {"oslo", view("watch", "true"), "1048576"},
		"as asked":    {"oslo", view("limitBytes", "5000"), "5000"},
		"not metered": {"paris", view(), ""},
		"an eviction": {"oslo", evict, ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked := ""
			s := New(Config{SpaceUID: uidOf, Metered: func(target string) bool { return target == "oslo" },
				Targets: sites{func(_ context.Context, r *exchange.Request) (*http.Response, error) {
					asked = r.Query.Get("limitBytes")
					return ok(strings.Repeat("x", meteredAnswer)), nil
				}}})
			resp, err := s.Do(t.Context(), c.target, c.r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil || asked != c.asked || len(text) != meteredAnswer {
				t.Errorf("%d bytes, asked for %q: %v", len(text), asked, err)
			}
		})
	}
}

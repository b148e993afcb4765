package exchange

import (
	"errors"
	"strings"
	"testing"
)

// TestChange: what a change may be of.
func TestChange(t *testing.T) {
	large := `{"labels":{"a":"` + strings.Repeat("x", MaxChange) + `"}}`
	for name, c := range map[string]struct {
		resource, origin, body string
		sound                  bool
	}{
		"a label":                   {"", "", `{"labels":{"role":"primary"}}`, true},
		"a label that goes":         {"", "", `{"labels":{"role":null}}`, true},
		"of a claim":                {Claims, "", `{"annotations":{"a":"b"}}`, true},
		"a gate":                    {"", "", `{"conditions":[{"type":"a","status":"True"}]}`, true},
		"a gate of what was placed": {"", "o-1", `{"conditions":[{"type":"a","status":"True"}]}`, true},
		"a label of that":           {"", "o-1", `{"labels":{"a":"b"}}`, false},
		"a gate of a claim":         {Claims, "", `{"conditions":[{"type":"a","status":"True"}]}`, false},
		"both":                      {"", "", `{"labels":{"a":"b"},"conditions":[{"type":"a"}]}`, false},
		"nothing":                   {"", "", `{}`, false},
		"another field":             {"", "", `{"labels":{"a":"b"},"ownerReferences":[]}`, false},
		"something behind":          {"", "", `{"labels":{"a":"b"}}{}`, false},
		"no object":                 {"", "", `[]`, false},
		"a mark":                    {"", "", `{"labels":{"skerry.dev/site":"x"}}`, false},
		"the mark of the origin":    {"", "", `{"annotations":{"skerry.dev/origin-uid":"x"}}`, false},
		"a mark that goes":          {"", "", `{"annotations":{"skerry.dev/origin":null}}`, false},
		"a mark below":              {"", "", `{"annotations":{"a.skerry.dev/x":"y"}}`, false},
		"another resource":          {"secrets", "", `{"labels":{"a":"b"}}`, false},
		"too much":                  {"", "", large, false},
		"the size of a claim":       {Claims, "", `{"storage":"2Gi"}`, true},
		"that and a label":          {Claims, "", `{"storage":"1500m","labels":{"a":"b"}}`, true},
		"a size in exponents":       {Claims, "", `{"storage":"12e6"}`, true},
		"an absurd exponent":        {Claims, "", `{"storage":"1e999999999"}`, false},
		"a negative size":           {Claims, "", `{"storage":"-1Gi"}`, false},
		"the size of a Pod":         {"", "", `{"storage":"2Gi"}`, false},
		"the size of what is there": {Claims, "o-1", `{"storage":"2Gi"}`, false},
	} {
		r := &Request{Space: "shop", Namespace: "web", Pod: "a", UID: "u-1", Verb: Change, Resource: c.resource,
			Body: []byte(c.body)}
		if c.origin != "" {
			r.UID, r.Origin = "", c.origin
		}
		if err := r.Check(); (err == nil) != c.sound || err != nil && !errors.Is(err, ErrRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, v := range []Verb{Log, Exec, Evict, Debug, View} {
		r := &Request{Space: "shop", Namespace: "web", Pod: "a", UID: "u-1", Verb: v, Resource: Jobs}
		if r.Check() == nil {
			t.Errorf("%s of a Job", v)
		}
	}
}

// FuzzChange: a change that is taken says the same when it is encoded anew, and changes no key of
// skerry.dev.
func FuzzChange(f *testing.F) {
	f.Add([]byte(`{"labels":{"role":"primary","b":null},"annotations":{"a/b":"c"}}`))
	f.Add([]byte(`{"conditions":[{"type":"a","status":"True","observedGeneration":3}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r := &Request{Space: "shop", Namespace: "web", Pod: "a", UID: "u-1", Verb: Change, Body: body}
		c, err := r.Change()
		if err != nil {
			return
		}
		for name := range c.Labels {
			if strings.Contains(strings.ToLower(name), "skerry.dev/") && IsSkerryKey(name) {
				t.Errorf("it changes %q", name)
			}
		}
		if r.Body, err = EncodeChange(c); err != nil {
			t.Fatal(err)
		}
		again, err := r.Change()
		if err != nil || len(again.Labels) != len(c.Labels) || len(again.Conditions) != len(c.Conditions) {
			t.Errorf("%+v, %v", again, err)
		}
	})
}

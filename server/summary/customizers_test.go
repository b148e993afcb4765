package summary

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"skerry.dev/skerry/store"
)

var sites = store.Key{Space: "s", Group: store.RulesGroup, Resource: store.RulesResource, Name: "sites"}

func conditionOf(status map[string]any, name string) string {
	list, _ := status["conditions"].([]any)
	for _, e := range list {
		if c, _ := e.(map[string]any); c["type"] == name {
			return fmt.Sprint(c["status"], " ", c["reason"], " ", c["message"])
		}
	}
	return ""
}

// A Customizer is applied when all its targets say so; what fails is counted and named with its
// target, also behind a relay.
func TestCustomizerStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCenter(t)
		c.place(sites, "skerry.dev/v1alpha1", "Customizer", "a", "b", "nordic")
		said := func(gen int64, applied, text string) *store.Report {
			return &store.Report{OriginUID: "uid-sites", Generation: gen, Applied: applied, Status: status(`%s`, text)}
		}
		c.says("a", sites, said(1, "aa", `{"matched":2,"targets":1}`))
		c.eventually("one of three", func() bool {
			return strings.HasPrefix(conditionOf(c.status(sites), "Applied"), "False Pending 1 of 3")
		})
		c.says("b", sites, said(1, "aa", `{}`))
		c.says("nordic", sites, said(1, "aa", `{"observedGeneration":1,"matched":3,"targets":2,"failures":1,"failed":[`+
			`{"target":"oslo","object":"apps/deployments/n/x","reason":"MissingValue","message":"no label"}]}`))
		c.eventually("a failure below a relay", func() bool {
			return strings.Contains(conditionOf(c.status(sites), "Applied"), "False MissingValue objects that stay as they are: 1;") &&
				strings.Contains(conditionOf(c.status(sites), "Applied"), "on nordic/oslo: no label")
		})
		s := c.status(sites)
		if num(s["matched"]) != 5 || num(s["targets"]) != 3 || num(s["failures"]) != 1 || num(s["observedGeneration"]) != 1 {
			t.Errorf("status %v", s)
		}
		c.says("nordic", sites, said(1, "aa", `{"observedGeneration":1,"matched":3,"targets":2}`))
		c.eventually("all three", func() bool {
			return strings.HasPrefix(conditionOf(c.status(sites), "Applied"), "True Everywhere") &&
				strings.HasPrefix(conditionOf(c.status(sites), "Valid"), "True")
		})
		writes := c.count()
		for range 20 {
			c.says("a", sites, said(1, "aa", `{"targets":1,"matched":2}`))
		}
		bad := said(1, "", `{}`)
		bad.Error = &store.ReportError{Reason: "Invalid", Message: "spec.rules[0]: unknown"}
		c.says("b", sites, bad)
		c.eventually("a target that does not understand it", func() bool {
			return strings.HasPrefix(conditionOf(c.status(sites), "Valid"), "False Refused b: spec.rules[0]")
		})
		if n := c.count() - writes; n > 2 {
			t.Errorf("%d writes for one change", n)
		}
	})
}

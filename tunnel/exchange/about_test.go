package exchange

import (
	"net/url"
	"reflect"
	"strings"
	"testing"
)

// TestAbout: a view of the Events about one object has that object, its UID or its origin's, and
// nothing else.
func TestAbout(t *testing.T) {
	about := func(change func(*Request), options ...string) *Request {
		r := &Request{Space: "shop", Namespace: "web", Verb: View, UID: "u-1", Query: url.Values{
			OptionVersion: {"v1"}, OptionResource: {"events"}, OptionAbout: {"Pod/web-0.a"}, OptionLimit: {"100"},
		}}
		for i := 0; i < len(options); i += 2 {
			r.Query[options[i]] = []string{options[i+1]}
		}
		if change != nil {
			change(r)
		}
		return r
	}
	for name, r := range map[string]*Request{
		"UID": about(nil), "origin": about(func(r *Request) { r.UID, r.Origin = "", "o" }),
		"neither": about(func(r *Request) { r.UID = "" }), "path": about(func(r *Request) { r.Path = []string{"oslo"} }),
	} {
		text, err := r.encode()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, _, err := Read(strings.NewReader(string(text))); err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%s: %+v became %+v: %v", name, r, got, err)
		}
	}
	for name, r := range map[string]*Request{
		"no namespace":    about(func(r *Request) { r.Namespace = "" }),
		"both":            about(func(r *Request) { r.Origin = "o" }),
		"a Pod":           about(func(r *Request) { r.Pod = "web-0" }),
		"a wrong UID":     about(func(r *Request) { r.UID = "u 1" }),
		"of Pods":         about(nil, OptionResource, "pods"),
		"of another API":  about(nil, OptionGroup, "events.k8s.io"),
		"of a version":    about(nil, OptionVersion, "v1beta1"),
		"a watch":         about(nil, OptionWatch, "true"),
		"one by its name": about(nil, OptionName, "e"),
		"a selector":      about(nil, "fieldSelector", "type=Normal"),
		"no name":         about(nil, OptionAbout, "Pod"),
		"no kind":         about(nil, OptionAbout, "/web"),
		"an escape":       about(nil, OptionAbout, "Pod/a,involvedObject.uid=x"),
		"a UID alone":     about(func(r *Request) { delete(r.Query, OptionAbout) }),
	} {
		if err := r.Check(); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

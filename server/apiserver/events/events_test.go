package events

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	api "k8s.io/kubernetes/pkg/apis/core"

	onsite "skerry.dev/skerry/tunnel/events"
	"skerry.dev/skerry/tunnel/exchange"
)

// TestSelected: sites are asked about one object of one namespace, and about nothing else.
func TestSelected(t *testing.T) {
	for name, c := range map[string]struct {
		selector, namespace string
		more                internalversion.ListOptions
		want                selected
		ok                  bool
	}{
		"describe": {"involvedObject.name=web,involvedObject.namespace=prod,involvedObject.kind=Pod,involvedObject.uid=u", "prod",
			internalversion.ListOptions{Limit: 500}, selected{"web", "Pod", "u"}, true},
		"events --for": {"involvedObject.kind=Deployment,involvedObject.apiVersion=apps/v1,involvedObject.name=web", "prod",
			internalversion.ListOptions{}, selected{"web", "Deployment", ""}, true},
		"a name": {"involvedObject.name==web,type!=Warning", "prod",
			internalversion.ListOptions{ResourceVersion: "0"}, selected{"web", "", ""}, true},
		"the second part": {"involvedObject.name=web", "prod", internalversion.ListOptions{Continue: "c"},
			selected{"web", "", ""}, true},
		"a kind": {"involvedObject.kind=Pod,reason=Scheduled", "prod", internalversion.ListOptions{},
			selected{"", "Pod", ""}, true},
		"a kind that sites do not tell of": {"involvedObject.kind=Secret", "prod", internalversion.ListOptions{}, selected{}, false},
		"a kind in all namespaces":         {"involvedObject.kind=Pod", "", internalversion.ListOptions{}, selected{}, false},
		"all but one":                      {"involvedObject.name!=web", "prod", internalversion.ListOptions{}, selected{}, true},
		"a reason":                         {"reason=Scheduled", "prod", internalversion.ListOptions{Limit: 500}, selected{}, true},
		"everything":                       {"", "prod", internalversion.ListOptions{}, selected{}, true},
		"everything, for a cache":          {"", "prod", internalversion.ListOptions{ResourceVersion: "0"}, selected{}, false},
		"everything, its second part":      {"", "prod", internalversion.ListOptions{Continue: "c"}, selected{}, false},
		"everything, everywhere":           {"", "", internalversion.ListOptions{}, selected{}, false},
		"a UID alone":                      {"involvedObject.uid=u", "prod", internalversion.ListOptions{}, selected{}, false},
		"all namespaces":                   {"involvedObject.name=web", "", internalversion.ListOptions{}, selected{}, false},
		"another namespace": {"involvedObject.name=web,involvedObject.namespace=test", "prod",
			internalversion.ListOptions{}, selected{}, false},
		"another time": {"involvedObject.name=web", "prod",
			internalversion.ListOptions{ResourceVersion: "7"}, selected{}, false},
	} {
		o := c.more
		o.FieldSelector = fields.ParseSelectorOrDie(c.selector)
		got, ok := selectedBy(&o, c.namespace)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %+v, %t", name, got, ok)
		}
	}
	if _, ok := selectedBy(nil, "prod"); ok {
		t.Error("no options name an object")
	}
}

// TestLooksForMore: who sees no Event in a list of all is told how to ask sites, but for controllers.
func TestLooksForMore(t *testing.T) {
	some := &api.EventList{Items: make([]api.Event, 1)}
	for name, c := range map[string]struct {
		o    *internalversion.ListOptions
		list *api.EventList
		want bool
	}{
		"none":              {&internalversion.ListOptions{}, &api.EventList{}, true},
		"some":              {&internalversion.ListOptions{}, some, false},
		"a cache":           {&internalversion.ListOptions{ResourceVersion: "0"}, &api.EventList{}, false},
		"the end of a list": {&internalversion.ListOptions{Continue: "c"}, &api.EventList{}, false},
		"not the end":       {nil, &api.EventList{ListMeta: metav1.ListMeta{Continue: "c"}}, false},
	} {
		if got := looksForMore(c.o, c.list); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestMerge: no Event comes twice, selectors hold for those of sites, too, and the order is that of
// the stored ones.
func TestMerge(t *testing.T) {
	at := time.Unix(100, 0)
	found := func(name, reason string) api.Event {
		place := onsite.Place{Kind: "Deployment", Name: "web", At: exchange.Place{Target: "oslo", Pod: "web"}}
		return convert(onsite.Found{Place: place, Event: onsite.Event{Name: name, Type: "Normal", Reason: reason,
			Message:   "m",
			Component: "kubelet", Count: 3, First: at, Last: at.Add(time.Minute)}}, "prod", "u-web")
	}
	stored := func(names ...string) *api.EventList {
		out := &api.EventList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
		for _, name := range names {
			out.Items = append(out.Items, api.Event{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "prod"}, Count: 1})
		}
		return out
	}
	live := []api.Event{found("web.c", "Pulled"), found("web.a", "Pulled"), found("web.a", "Pulled"),
		found("web.d", "Started")}
	of := func(selector string) *internalversion.ListOptions {
		return &internalversion.ListOptions{FieldSelector: fields.ParseSelectorOrDie(selector)}
	}
	labelled := of("")
	labelled.LabelSelector = labels.SelectorFromSet(labels.Set{"app": "web"})
	for name, c := range map[string]struct {
		list, all *api.EventList
		o         *internalversion.ListOptions
		want      []string
	}{
		"all": {stored("web.b"), stored("web.b"),
			of("involvedObject.name=web,involvedObject.apiVersion=apps/v1,involvedObject.uid=u-web"),
			[]string{"web.a", "web.b", "web.c", "web.d"}},
		"reported": {stored("web.b", "web.c"), stored("web.b", "web.c"), of("involvedObject.name=web"),
			[]string{"web.a", "web.b", "web.c", "web.d"}},
		"by part": {stored("web.e"), stored("web.a", "web.e"), of("involvedObject.name=web"),
			[]string{"web.c", "web.d", "web.e"}},
		"by reason":    {stored(), stored(), of("involvedObject.name=web,reason=Started"), []string{"web.d"}},
		"by type":      {stored(), stored(), of("involvedObject.name=web,type=Warning"), nil},
		"another UID":  {stored(), stored(), of("involvedObject.name=web,involvedObject.uid=u-0"), nil},
		"with a label": {stored(), stored(), labelled, nil},
	} {
		before := len(c.list.Items)
		got := merge(c.list, c.all, live, c.o)
		var names []string
		for _, e := range got.Items {
			names = append(names, e.Name)
			if e.Name == "web.c" && name == "reported" && e.Count != 1 {
				t.Error("a stored event is replaced")
			}
		}
		if !slices.Equal(names, c.want) || got.ResourceVersion != "7" || len(c.list.Items) != before {
			t.Errorf("%s: %q, want %q", name, names, c.want)
		}
	}
}

// TestConvert: an Event of a site is one of the space, with the object's identity there.
func TestConvert(t *testing.T) {
	place := onsite.Place{Kind: "Pod", Name: "web", At: exchange.Place{Target: "oslo", Pod: "web-there", UID: "u-there"}}
	found := onsite.Found{Place: place, Event: onsite.Event{Name: "web.a", Type: "Normal", Reason: "Pulled", Message: "m",
		Component: "kubelet", FieldPath: "spec.containers{web}", Count: 1 << 40, First: time.Unix(1, 0),
		Last: time.Unix(2, 0)}}
	e := convert(found, "prod", "u-here")
	about := api.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: "prod", Name: "web", UID: "u-here",
		FieldPath: "spec.containers{web}"}
	if e.InvolvedObject != about || e.Namespace != "prod" ||
		e.Annotations["skerry.dev/reported-from"] != "oslo" || len(e.Annotations) != 1 ||
		e.Source != (api.EventSource{Component: "kubelet", Host: "oslo"}) || e.Count != 1<<30 || e.ResourceVersion != "" ||
		e.FirstTimestamp.Unix() != 1 || e.LastTimestamp.Unix() != 2 {
		t.Errorf("%+v", e)
	}
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(string(e.UID)) {
		t.Errorf("UID %s", e.UID)
	}
	if again := convert(found, "prod", "u-here"); again.UID != e.UID {
		t.Error("another UID for the same event")
	}
	if other := convert(found, "prod", "u-other"); other.UID == e.UID {
		t.Error("the same UID for events about two objects")
	}
}
